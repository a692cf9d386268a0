//! What somebody may change about a conversation while it goes on.

use deft_engine::{AllowScope, Budget, QueueChange, Queued, Rewind, SecretSources};
use deft_tools::Overwrite;
use deft_types::{EventId, Message, Role, SecurityAnalyzer, Tokens};
use serde_json::json;

use super::player::Player;
use super::steps::ids;

impl Player {
    /// Changes one thing.
    pub(super) async fn change(&mut self) {
        let scene = self.scene.clone();
        let dice = &scene.dice;
        let conversation = self.conversation();
        match dice.below(8) {
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
                let rewind = async move {
                    let what = Rewind::Conversation;
                    conversation.rewind(to, what, Overwrite::Refuse).await
                };
                self.command("rewind", rewind).await;
            }
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
