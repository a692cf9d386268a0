//! What the end of a log says about a conversation, without reading all of it.

use deft_store::{Store, StoreError};
use deft_types::{ConversationId, Event, EventBody, EventId, Seq};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::calls::Calls;
use crate::skills::UsedSkills;
use crate::wire::public_stats;

/// Events read at once.
const PAGE: u64 = 64;

/// The last of each thing that clients are told about a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// The last event that was looked at.
    pub(crate) through: Option<Seq>,
    pub(crate) stats: Option<Value>,
    /// The calls that the events told of which were looked at.
    calls: Calls,
    /// Its id, or null in a copy in which nobody has said anything yet.
    pub(crate) last_user_message: Option<Value>,
    pub(crate) leaf: Leaf,
    /// What is known of an agent that is a program of its own.
    agent_state: Option<Value>,
    /// Whether there is such an agent, as far as was looked.
    is_external: bool,
    /// The skills that were used, once somebody has looked for them through the whole log.
    pub(crate) used_skills: Option<UsedSkills>,
}

/// Where a conversation stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// Nothing has been read that says it, or nothing has happened.
    #[default]
    Unknown,
    /// Before the first event: somebody went back there.
    Start,
    /// At an event.
    At(EventId),
}

impl Leaf {
    /// The event, if it is one.
    pub(crate) fn event(&self) -> Option<&EventId> {
        match self {
            Self::Unknown | Self::Start => None,
            Self::At(event) => Some(event),
        }
    }
}

impl Summary {
    /// Of a log that goes to `last`. Reads backwards until everything is found.
    pub(crate) async fn read(
        store: &dyn Store,
        id: ConversationId,
        last: Option<Seq>,
    ) -> Result<Self, StoreError> {
        let mut summary = Self {
            through: last,
            ..Self::default()
        };
        let mut end = last.map_or(0, |last| last.0 + 1);
        while end > 0 && !summary.is_complete() {
            let from = end.saturating_sub(PAGE);
            let count = usize::try_from(end - from).unwrap_or(usize::MAX);
            let page = store.read(id, Seq(from), count).await?;
            let mut older = Self::default();
            for (_, event) in &page {
                older.take(event);
            }
            summary.stats = summary.stats.or(older.stats);
            summary.calls = older.calls.followed_by(summary.calls);
            summary.last_user_message = summary.last_user_message.or(older.last_user_message);
            summary.agent_state = summary.agent_state.or(older.agent_state);
            summary.is_external |= older.is_external;
            if summary.leaf == Leaf::Unknown {
                summary.leaf = older.leaf;
            }
            end = from;
        }
        Ok(summary)
    }

    /// Takes in what came since it was read.
    pub(crate) async fn advance(
        &mut self,
        store: &dyn Store,
        id: ConversationId,
        last: Option<Seq>,
    ) -> Result<(), StoreError> {
        while self.through < last {
            let from = self.through.map_or(Seq::FIRST, Seq::next);
            let page = store
                .read(id, from, usize::try_from(PAGE).unwrap_or(usize::MAX))
                .await?;
            // What came since then is no part of the state that this is for.
            let page: Vec<_> = page
                .into_iter()
                .take_while(|(seq, _)| Some(*seq) <= last)
                .collect();
            let Some((through, _)) = page.last() else {
                break;
            };
            self.through = Some(*through);
            for (_, event) in &page {
                self.take(event);
            }
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        let is_known = self.agent_state.is_some() || !self.is_external;
        self.stats.is_some() && self.last_user_message.is_some() && self.leaf != Leaf::Unknown && is_known
    }

    fn take(&mut self, event: &Event) {
        if let Some(used) = &mut self.used_skills {
            used.take(&event.body);
        }
        let EventBody::StateUpdate(update) = &event.body else {
            self.leaf = Leaf::At(event.id.clone());
            self.is_external |= matches!(event.body, EventBody::AcpToolCall(_));
            return;
        };
        match update.key.as_str() {
            "stats" => {
                self.calls.take(&update.value);
                self.stats = Some(update.value.clone());
            }
            "agent_state" => self.agent_state = Some(update.value.clone()),
            "last_user_message_id" => self.last_user_message = Some(update.value.clone()),
            "leaf_event_id" => {
                let event = Option::deserialize(&update.value).unwrap_or_default();
                self.leaf = event.map_or(Leaf::Start, Leaf::At);
            }
            _ => {}
        }
    }

    /// What is known of the agent.
    pub(crate) fn agent_state(&self) -> Value {
        self.agent_state.clone().unwrap_or_else(|| json!({}))
    }

    /// The stats with every list that the contract has.
    pub(crate) fn full_stats(&self) -> Value {
        let mut stats = self
            .stats
            .clone()
            .unwrap_or_else(|| json!({"usage_to_metrics": {}}));
        public_stats(&mut stats);
        self.calls.fill(&mut stats);
        stats
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use deft_store::{NewConversation, Options, Owner, SqliteStore};
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn what_came_behind_a_state_is_no_part_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("deft.db"), Options::default()).unwrap();
        let id = ConversationId(Uuid::new_v4());
        let conversation = NewConversation {
            id,
            created_at: SystemTime::now(),
            workspace: String::new(),
            settings: json!({}),
            owner: None,
        };
        store.create(conversation).await.unwrap();
        let lease = store.acquire(id, &Owner::this_process()).await.unwrap();
        let said = |message: &str| {
            let event = json!({
                "kind": "MessageEvent", "id": message, "timestamp": "2026-01-01T00:00:00", "source": "user",
                "llm_message": {"role": "user", "content": []},
            });
            serde_json::from_value(event).unwrap()
        };
        let events = ["a", "b", "c"].map(said).to_vec();
        store.append(&lease, events).await.unwrap();
        let mut summary = Summary::read(&store, id, Some(Seq(0))).await.unwrap();
        summary.advance(&store, id, Some(Seq(1))).await.unwrap();
        assert_eq!(summary.through, Some(Seq(1)));
        assert_eq!(summary.leaf, Leaf::At(EventId::from("b")));
    }
}
