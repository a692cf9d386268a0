//! Webhooks that people add, change and remove while the server runs, beside those of its configuration.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;
use deft_store::{ConversationRecord, Search};
use deft_types::{ConversationId, Seq};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::Webhooks;
use super::hook::{Hook, Origin};
use super::mail::Letter;
use super::spec::Webhook;
use crate::failure::Failure;

/// Where they are kept, by their ids: as they were written, sealed.
const FOLDER: &str = "webhook-settings/";
/// Which of the configuration stood where, by their numbers.
const PLACES: &str = "webhook-places/";
/// How many there may be.
const MAX_HOOKS: usize = 32;
/// A new one hears of so many conversations that were changed last; of others when they are used again.
const MAX_SUBSCRIBED: usize = 500;

impl Webhooks {
    /// Finds those that were added to earlier servers on the same store.
    pub(crate) async fn load(&self) {
        let kept = match self.mail.documents.list(FOLDER).await {
            Ok(kept) => kept,
            Err(failure) => {
                tracing::error!(?failure, "webhooks that were added cannot be read");
                return;
            }
        };
        if let Err(failure) = self.take_over(&kept).await {
            tracing::error!(
                ?failure,
                "what webhooks with another address are to be told cannot be found"
            );
        }
        for (id, written) in kept {
            match self.hook(&written) {
                Ok(hook) if self.find(&hook.id).is_err() => drop(self.put(hook, &id)),
                Ok(_) => {} // the configuration has it too, and counts
                Err(failure) => tracing::error!(webhook = id, ?failure, "a webhook cannot be used"),
            }
        }
    }

    /// One of the configuration goes on where the one stopped that stood in its place with another address, unless that
    /// one was added as well, and goes on itself.
    async fn take_over(&self, added: &[(String, Value)]) -> Result<(), Failure> {
        let documents = &self.mail.documents;
        let before = documents.list(PLACES).await?;
        let stood = |id: &str| before.iter().any(|(_, known)| known == id);
        let is_gone = |id: &str| self.find(id).is_err() && added.iter().all(|(known, _)| known != id);
        for (number, hook) in self.hooks().iter().enumerate() {
            let number = number.to_string();
            let last = before.iter().find(|(place, _)| *place == number);
            let last = last.and_then(|(_, id)| id.as_str());
            if let Some(last) = last.filter(|last| is_gone(last) && !stood(&hook.id)) {
                self.mail.carry_over(last, &hook.id).await?;
                self.mail.forget(last).await?;
            }
            if last != Some(&hook.id) {
                let place = format!("{PLACES}{number}");
                documents.put(&place, &hook.id.as_str().into()).await?;
            }
        }
        for (place, _) in &before {
            if place
                .parse()
                .is_ok_and(|number: usize| number >= self.hooks().len())
            {
                documents.take(&format!("{PLACES}{place}")).await?; // nobody stands there any more
            }
        }
        Ok(())
    }

    /// Adds one, which hears of what happens from now on, and of what one with the same address was not told before.
    /// What happens comes from conversations that are `loaded`, whoever's they are.
    pub(crate) async fn add(
        &self,
        written: &Map<String, Value>,
        loaded: impl Fn() -> Vec<ConversationId>,
    ) -> Result<(), Failure> {
        let written = Value::Object(written.clone());
        let hook = self.hook(&written)?;
        if self.find(&hook.id).is_ok() {
            return Err(taken());
        }
        if self.hooks().len() >= MAX_HOOKS {
            return Err(Failure::refused(format!(
                "There can be at most {MAX_HOOKS} webhooks"
            )));
        }
        let id = hook.id.clone();
        let store = &self.mail.catalog.store;
        let begin = async |record: ConversationRecord| {
            let next = record.last_seq.map_or(Seq::FIRST, Seq::next);
            self.mail.begin(&id, record.id, next).await
        };
        let begin_loaded = async || {
            for conversation in loaded() {
                if let Some(record) = store.conversation(conversation).await? {
                    begin(record).await?;
                }
            }
            Ok::<_, Failure>(())
        };
        for record in store.search(Search::default(), MAX_SUBSCRIBED).await? {
            begin(record).await?;
        }
        begin_loaded().await?;
        self.mail.documents.put(&key(&id), &written).await?;
        let hook = self.put(hook, &id);
        begin_loaded().await?; // some may have been loaded meanwhile
        self.recover_one(&hook).await
    }

    /// Changes the fields that are given; null: back to what is usual. With another address it has another id, and what
    /// waits goes there.
    pub(crate) async fn change(&self, id: &str, changes: &Map<String, Value>) -> Result<(), Failure> {
        let before = self.kept(id)?;
        let written = self.mail.documents.get(&key(id)).await?;
        let Some(Value::Object(mut written)) = written else {
            return Err(Failure::not_found());
        };
        for (name, value) in changes {
            match value {
                Value::Null => drop(written.remove(name)),
                value => drop(written.insert(name.clone(), value.clone())),
            }
        }
        let hook = self.hook(&Value::Object(written.clone()))?;
        let moves = hook.id != id;
        if moves && self.find(&hook.id).is_ok() {
            return Err(taken());
        }
        if moves {
            self.mail.carry_over(id, &hook.id).await?; // or it could count before it has what waits
        }
        self.mail
            .documents
            .put(&key(&hook.id), &Value::Object(written))
            .await?;
        *hook.tally() = *before.tally();
        before.close_all();
        let hook = self.put(hook, id);
        if moves {
            self.mail.carry_over(id, &hook.id).await?; // what came meanwhile
            self.mail.documents.take(&key(id)).await?;
            self.mail.forget(id).await?;
        }
        self.recover_one(&hook).await
    }

    /// Removes one, with all that was to be told to it.
    pub(crate) async fn remove(&self, id: &str) -> Result<(), Failure> {
        let hook = self.kept(id)?;
        self.mail.documents.take(&key(id)).await?;
        self.take_out(id);
        hook.close_all();
        self.mail.forget(id).await
    }

    /// Sends a list without events, which means nothing to any receiver.
    pub(crate) async fn test(&self, id: &str) -> Result<Value, Failure> {
        let hook = self.find(id)?;
        let conversation = ConversationId(Uuid::new_v4());
        let letter = Letter {
            id: Uuid::now_v7().to_string(),
            conversation,
            path: format!("events/{}", conversation.hex()),
            body: "[]".to_owned(),
        };
        let begun = Instant::now();
        let sent = hook.send(&letter).await;
        let milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(match sent {
            Ok(()) => json!({"ok": true, "detail": "", "milliseconds": milliseconds}),
            Err(reason) => json!({"ok": false, "detail": reason, "milliseconds": milliseconds}),
        })
    }

    /// Forgets what could not be delivered.
    pub(crate) async fn forget_dead(&self, id: &str) -> Result<(), Failure> {
        let hook = self.find(id)?;
        self.mail.forget_dead(&hook.id).await
    }

    pub(super) fn find(&self, id: &str) -> Result<Arc<Hook>, Failure> {
        let found = self.hooks().into_iter().find(|known| known.id == id);
        found.ok_or_else(Failure::not_found)
    }

    /// One that was added, and may be changed.
    fn kept(&self, id: &str) -> Result<Arc<Hook>, Failure> {
        let hook = self.find(id)?;
        match hook.origin {
            Origin::Kept => Ok(hook),
            Origin::Configured(_) => Err(Failure::new(
                StatusCode::CONFLICT,
                "This webhook is set up where the server is started, and can be changed only there",
            )),
        }
    }

    fn hook(&self, written: &Value) -> Result<Hook, Failure> {
        let spec: Webhook =
            serde_json::from_value(written.clone()).map_err(|error| Failure::refused(error.to_string()))?;
        let client = deft_net::client(self.ca_file.as_deref(), &spec.base_url)
            .map_err(|error| Failure::refused(error.to_string()))?;
        Ok(Hook::new(spec, client, Origin::Kept))
    }

    /// Puts one in the place of one with that id, or behind the others.
    fn put(&self, hook: Hook, instead_of: &str) -> Arc<Hook> {
        let hook = Arc::new(hook);
        let mut hooks = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        match hooks.iter_mut().find(|known| known.id == instead_of) {
            Some(place) => *place = Arc::clone(&hook),
            None => hooks.push(Arc::clone(&hook)),
        }
        hook
    }

    fn take_out(&self, id: &str) {
        let mut hooks = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        hooks.retain(|known| known.id != id);
    }
}

fn taken() -> Failure {
    Failure::refused("There is a webhook with this address already")
}

fn key(id: &str) -> String {
    format!("{FOLDER}{id}")
}
