//! What became of the requests, for whoever looks after the server.

use deft_store::KeyOrder;
use reqwest::header::HeaderName;
use serde_json::{Value, json};

use super::Webhooks;
use super::hook::{Hook, Origin};
use crate::failure::Failure;
use crate::info::utc;
use crate::masking::without_keys;
use crate::metrics::Page;

/// Conversations and dead letters that are shown of one webhook; their numbers are shown whole.
const MAX_SHOWN: usize = 100;
/// Dead letters that are in memory at once while they are sent again.
const REDELIVERED_AT_ONCE: usize = 50;

impl Webhooks {
    /// All webhooks: what arrived, what waits and why, and what was given up.
    pub(crate) async fn state(&self) -> Result<Value, Failure> {
        let mut all = Vec::new();
        for hook in &self.hooks() {
            all.push(self.state_of(hook).await?);
        }
        Ok(json!({ "webhooks": all }))
    }

    async fn state_of(&self, hook: &Hook) -> Result<Value, Failure> {
        let lanes: Vec<_> = {
            let lanes = hook.lanes();
            lanes
                .iter()
                .map(|(id, lane)| (*id, lane.trouble().clone()))
                .collect()
        };
        let mut waiting = Vec::new();
        for (id, trouble) in lanes.iter().take(MAX_SHOWN) {
            let record = self.mail.catalog.store.conversation(*id).await?;
            let end = record
                .and_then(|record| record.last_seq)
                .map_or(0, |last| last.0 + 1);
            let cursor = self.mail.cursor(&hook.id, *id).await?;
            let behind = cursor.map_or(0, |cursor| end.saturating_sub(cursor.next.0));
            let mut shown = json!({"conversation_id": id, "pending_events": behind});
            if let Some(trouble) = trouble {
                shown["attempts"] = trouble.attempts.into();
                shown["last_error"] = trouble.reason.clone().into();
                shown["next_attempt"] = utc(trouble.next_attempt).into();
            }
            waiting.push(shown);
        }
        let dead = self.mail.dead(&hook.id, None, KeyOrder::Descending, MAX_SHOWN);
        let graves: Vec<_> = dead
            .await?
            .iter()
            .map(|(_, dead)| {
                json!({"id": dead.letter.id, "conversation_id": dead.letter.conversation, "path": dead.letter.path,
                    "attempts": dead.attempts, "last_error": dead.reason, "at": dead.at})
            })
            .collect();
        let tally = *hook.tally();
        Ok(json!({
            "id": hook.id,
            "base_url": without_keys(&hook.spec.base_url),
            "is_configured": matches!(hook.origin, Origin::Configured(_)),
            "is_signed": hook.spec.secret.is_some(),
            "headers": hook.spec.headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(),
            "delivered": tally.delivered,
            "failed_attempts": tally.failed,
            "last_delivery": tally.last_delivery.map(utc),
            "waiting_conversations": lanes.len(),
            "waiting": waiting,
            "dead_letter_count": self.mail.count_dead(&hook.id).await?,
            "dead_letters": graves,
        }))
    }

    /// What arrived and what did not, for Prometheus.
    pub(crate) fn write(&self, page: &mut Page) {
        let names = [
            "deft_webhook_deliveries_total",
            "deft_webhook_failures_total",
            "deft_webhook_waiting",
        ];
        let helps = [
            "Requests that arrived.",
            "Requests that did not arrive, each time they were tried.",
            "Conversations of which a webhook is to be told.",
        ];
        for (number, (name, help)) in names.into_iter().zip(helps).enumerate() {
            page.head(name, if number == 2 { "gauge" } else { "counter" }, help);
            for hook in &self.hooks() {
                let tally = *hook.tally();
                let values = [tally.delivered, tally.failed, hook.lanes().len() as u64];
                page.line(name, &[("webhook", &hook.id)], values[number]);
            }
        }
    }

    /// Tries everything once more that a webhook was not told in the end; how much that is.
    pub(crate) async fn redeliver(&self, hook: &str) -> Result<usize, Failure> {
        let hook = self.find(hook)?;
        // What is given up meanwhile waits for the next time.
        let newest = self.mail.dead(&hook.id, None, KeyOrder::Descending, 1).await?;
        let Some((last, _)) = newest.into_iter().next() else {
            return Ok(0);
        };
        let (mut sent, mut beyond) = (0, None);
        while beyond.as_ref() != Some(&last) {
            let page = self.mail.dead(
                &hook.id,
                beyond.as_deref(),
                KeyOrder::Ascending,
                REDELIVERED_AT_ONCE,
            );
            let page: Vec<_> = page
                .await?
                .into_iter()
                .take_while(|(key, _)| *key <= last)
                .collect();
            if page.is_empty() {
                break; // somebody has forgotten the rest, or sent it
            }
            for (key, dead) in page {
                self.mail.post(&hook.id, &dead.letter).await?;
                self.mail.remove(&key).await?;
                self.start(&hook, dead.letter.conversation);
                sent += 1;
                beyond = Some(key);
            }
        }
        Ok(sent)
    }
}
