//! Webhooks: others are told of all that happens, by HTTP.
//!
//! The log is the queue. For each webhook and conversation the store keeps how far it was told ([`mail`]); a task
//! ([`courier`]) sends what is behind that and ends when there is nothing more, so the agent never waits for a
//! receiver, and a restart goes on where the last server stopped. What is not in the log (that a conversation
//! began, was paused, was deleted) is kept beside it until it has arrived.

mod batch;
mod courier;
mod hook;
mod kept;
mod mail;
mod signature;
mod spec;
mod state;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use deft_types::{ConversationId, Secret, Seq};
use reqwest::header::HeaderValue;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use self::batch::Batch;
use self::courier::Courier;
use self::hook::{Hook, Origin};
use self::mail::{Letter, Mail};
pub use self::spec::Webhook;
use crate::catalog::Catalog;
use crate::failure::Failure;
use crate::info::Skills;

/// How long the last requests may take when the server stops.
const STOP_LIMIT: Duration = Duration::from_secs(3);

/// All webhooks of a server.
pub(crate) struct Webhooks {
    mail: Arc<Mail>,
    hooks: RwLock<Vec<Arc<Hook>>>,
    ca_file: Option<PathBuf>,
    couriers: TaskTracker,
    stopping: CancellationToken,
    /// Nobody waits any more.
    abandoned: CancellationToken,
}

impl Webhooks {
    /// Those that are configured. The sentence of a failure says which of them cannot be.
    pub(crate) fn new(
        specs: Vec<Webhook>,
        key: Option<&Secret<String>>,
        ca_file: Option<PathBuf>,
        catalog: Arc<Catalog>,
    ) -> Result<Self, String> {
        let mut key = key.and_then(|key| HeaderValue::from_str(key.expose()).ok());
        if let Some(key) = &mut key {
            key.set_sensitive(true);
        }
        let mut known = HashSet::new();
        let mut hooks = Vec::with_capacity(specs.len());
        for spec in specs {
            let client =
                deft_net::client(ca_file.as_deref(), &spec.base_url).map_err(|error| error.to_string())?;
            let hook = Hook::new(spec, client, Origin::Configured(key.clone()));
            if !known.insert(hook.id.clone()) {
                return Err("two webhooks have the same base_url; leave one out".to_owned());
            }
            hooks.push(Arc::new(hook));
        }
        Ok(Self {
            mail: Arc::new(Mail::new(catalog)),
            hooks: RwLock::new(hooks),
            ca_file,
            couriers: TaskTracker::new(),
            stopping: CancellationToken::new(),
            abandoned: CancellationToken::new(),
        })
    }

    /// Those that there are now.
    fn hooks(&self) -> Vec<Arc<Hook>> {
        let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
        hooks.clone()
    }

    /// A conversation is loaded: what comes behind `last` is told.
    pub(crate) async fn subscribe(&self, id: ConversationId, last: Option<Seq>) -> Result<(), Failure> {
        for hook in &self.hooks() {
            let next = last.map_or(Seq::FIRST, Seq::next);
            self.mail.begin(&hook.id, id, next).await?;
        }
        Ok(())
    }

    /// There may be something new in a log.
    pub(crate) fn appended(&self, id: ConversationId) {
        for hook in &self.hooks() {
            self.start(hook, id);
        }
    }

    /// A conversation began, or was changed from outside.
    pub(crate) async fn notice(&self, id: ConversationId) {
        if self.hooks().is_empty() {
            return;
        }
        let noticed = async {
            let info = self.info(id).await?;
            self.post(id, &info).await
        };
        if let Err(failure) = noticed.await {
            tracing::warn!(conversation = %id, ?failure, "webhooks do not hear of a conversation");
        }
    }

    /// A conversation is about to be deleted: what was not told of it yet is kept.
    pub(crate) async fn deleting(&self, id: ConversationId) -> Result<(), Failure> {
        if self.hooks().is_empty() {
            return Ok(());
        }
        let mut info = self.info(id).await?;
        info["execution_status"] = "deleting".into();
        for hook in &self.hooks() {
            hook.close(id);
            self.keep_rest(hook, id).await?;
            self.mail.end(&hook.id, id).await?;
        }
        self.post(id, &info).await
    }

    /// Goes on where the last server stopped.
    pub(crate) async fn recover(&self) {
        for hook in &self.hooks() {
            if let Err(failure) = self.recover_one(hook).await {
                tracing::warn!(
                    webhook = hook.id,
                    ?failure,
                    "cannot see what a webhook was not told"
                );
            }
        }
    }

    async fn recover_one(&self, hook: &Arc<Hook>) -> Result<(), Failure> {
        for (id, cursor) in self.mail.cursors(&hook.id).await? {
            match self.mail.catalog.store.conversation(id).await? {
                None => self.mail.end(&hook.id, id).await?,
                Some(record) if record.last_seq >= Some(cursor.next) => self.start(hook, id),
                Some(_) => {}
            }
        }
        for id in self.mail.senders(&hook.id).await? {
            self.start(hook, id);
        }
        Ok(())
    }

    /// Sends what waits, as far as it arrives soon. The rest stays in the store.
    pub(crate) async fn stop(&self) {
        self.recover().await; // the last events of conversations came without a word
        self.stopping.cancel();
        self.couriers.close();
        if tokio::time::timeout(STOP_LIMIT, self.couriers.wait())
            .await
            .is_err()
        {
            self.abandoned.cancel();
            self.couriers.wait().await;
        }
    }

    fn start(&self, hook: &Arc<Hook>, id: ConversationId) {
        let Some(lane) = hook.want(id) else {
            return;
        };
        let courier = Courier {
            mail: Arc::clone(&self.mail),
            hook: Arc::clone(hook),
            lane,
            id,
            stopping: self.stopping.clone(),
        };
        let abandoned = self.abandoned.clone();
        self.couriers.spawn(async move {
            abandoned.run_until_cancelled(courier.run()).await;
        });
    }

    async fn info(&self, id: ConversationId) -> Result<Value, Failure> {
        let mut info = self.mail.catalog.get(id).await?.info(Skills::Included);
        info["runtime_info"] = Value::Null;
        Ok(info)
    }

    async fn post(&self, id: ConversationId, info: &Value) -> Result<(), Failure> {
        let letter = Letter {
            id: Uuid::now_v7().to_string(),
            conversation: id,
            path: "conversations".to_owned(),
            body: info.to_string(),
        };
        for hook in &self.hooks() {
            self.mail.post(&hook.id, &letter).await?;
            self.start(hook, id);
        }
        Ok(())
    }

    /// Keeps the events that were not told yet, as the requests that they would have been.
    async fn keep_rest(&self, hook: &Hook, id: ConversationId) -> Result<(), Failure> {
        while let Some(cursor) = self.mail.cursor(&hook.id, id).await? {
            let store = &self.mail.catalog.store;
            let page = store.read(id, cursor.next, hook.spec.event_buffer_size).await?;
            if page.is_empty() {
                break;
            }
            let batch = Batch::pack(&self.mail, id, cursor, &page, hook.spec.max_batch_bytes).await?;
            if let Some(letter) = &batch.letter {
                self.mail.post(&hook.id, letter).await?;
            }
            let next = batch.through.next();
            self.mail.advance(&hook.id, id, batch.from, next).await?;
        }
        Ok(())
    }
}
