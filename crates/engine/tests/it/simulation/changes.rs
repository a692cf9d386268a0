//! What somebody may change about a conversation while it goes on.

use deft_engine::{AllowScope, Budget, QueueChange, Queued, Rewind, SecretSources};
use deft_tools::{CheckpointId, Overwrite};
use deft_types::{Event, EventBody, EventId, Message, Role, SecurityAnalyzer, Tokens};
use serde_json::json;

use super::player::Player;
use super::steps::ids;

impl Player {
    /// Changes one thing.
    pub(super) async fn change(&mut self) {
        let scene = self.scene.clone();
        let dice = &scene.dice;
        let conversation = self.conversation();
        match dice.below(10) {
            0 => {
                let tell = async move { conversation.tell("news".to_owned(), json!(1)).await };
                self.command("tell", tell).await;
            }
            1 | 2 => self.queue().await,
            3 => {
                let ids = self.logs.look(self.id, ids).unwrap();
                let Some(to) = (!ids.is_empty()).then(|| dice.pick(&ids).clone()) else {
                    return;
                };
                let what = *dice.pick(&[Rewind::Conversation, Rewind::Files, Rewind::Both]);
                let rewind = async move { conversation.rewind(to, what, Overwrite::Refuse).await };
                self.command("rewind", rewind).await;
            }
            7 => self.rerun().await,
            8 => self.restore_files().await,
            4 => self.add_budget().await,
            5 => {
                let title = format!("title {}", dice.below(3));
                let label = async move { conversation.label(Some(title), None).await };
                self.command("label", label).await;
            }
            6 => {
                let analyzer = dice.one_in(2).then_some(SecurityAnalyzer::Model);
                let set = async move { conversation.set_analyzer(analyzer).await };
                self.command("set the analyzer", set).await;
            }
            _ => {
                let change = async move {
                    conversation.set_secrets(SecretSources::default()).await?;
                    conversation.allow("ls", AllowScope::Conversation).await?;
                    conversation.disallow("ls".to_owned()).await
                };
                self.command("set secrets and rules", change).await;
            }
        }
    }

    /// Does again what was done; what came of it is in the log before anybody hears of it.
    async fn rerun(&mut self) {
        let conversation = self.conversation();
        let before = self.told("rerun");
        let Some(rerun) = self
            .command("rerun", async move { conversation.rerun().await })
            .await
        else {
            return;
        };
        let after = self.told("rerun");
        self.scene.demand(rerun.done <= rerun.of && after > before, || {
            format!("{rerun:?} is told, and {after} of them are in the log, {before} before")
        });
    }

    /// Makes the files what they were; that it was done is in the log before anybody hears of it.
    async fn restore_files(&mut self) {
        let conversation = self.conversation();
        let before = self.told("restored_files");
        let restore = async move {
            conversation
                .restore_files(CheckpointId(1), Overwrite::Refuse)
                .await
        };
        if self.command("restore files", restore).await.is_some() {
            let after = self.told("restored_files");
            self.scene.demand(after > before, || {
                "files were restored, and the log does not tell of it".to_owned()
            });
        }
    }

    /// How often the log tells such news.
    fn told(&self, key: &str) -> usize {
        let is_told =
            |event: &&Event| matches!(&event.body, EventBody::StateUpdate(update) if update.key == key);
        self.logs
            .look(self.id, |log| log.events.iter().filter(is_told).count())
            .unwrap()
    }

    async fn queue(&mut self) {
        let dice = &self.scene.dice;
        let queued = |id: EventId| Queued {
            id,
            message: Message::text(Role::User, format!("later {}", dice.below(100))),
        };
        let last = self.queued.last().cloned();
        let change = match (dice.below(6), last) {
            (0, Some(id)) => QueueChange::Remove(id),
            (1, Some(id)) => QueueChange::Edit(queued(id)),
            (2, Some(id)) => QueueChange::Order(vec![id]),
            (3, Some(id)) => QueueChange::Add(queued(id)), // again, as after a lost answer
            _ => {
                let id = EventId::from(dice.uuid());
                self.queued.push(id.clone());
                QueueChange::Add(queued(id))
            }
        };
        let conversation = self.conversation();
        let change = async move { conversation.change_queue(change).await };
        self.command("change the queue", change).await;
    }

    /// Adds to what may be used, twice under one id, as after a lost answer.
    async fn add_budget(&mut self) {
        let id = EventId::from(self.scene.dice.uuid());
        let more = Budget {
            tokens: Tokens(1_000),
            ..Budget::default()
        };
        let conversation = self.conversation();
        let add = async move {
            conversation.add_budget(id.clone(), more).await?;
            conversation.add_budget(id, more).await
        };
        self.command("add budget", add).await;
    }
}
