//! Has the result of a turn criticised before the turn ends.

use deft_llm::{Delta, OtherUse, Spent};
use deft_store::StoreError;
use deft_types::{EventId, Message, MessageEvent, Role, Source, text_of};
use futures::FutureExt;
use serde_json::json;

use super::Actor;
use super::spending;
use super::work::{self, Outcome, Work};
use crate::critic::{Critic, Criticism, Refinement, Review};
use crate::state::{self, key};
use crate::turn::Draft;
use crate::view::Entry;

impl Actor {
    /// What the end of a turn brings, or nothing yet: it is criticised first where somebody is to. Also whoever is not
    /// sent back any more has a score.
    pub(super) fn turn_ended(&mut self) -> Vec<Draft> {
        self.wants_review = self.refinement.is_some();
        if self.wants_review {
            return Vec::new();
        }
        self.end_turn()
    }

    /// Begins to have the result criticised, if there is still something to pay for it.
    pub(super) async fn review(&mut self) -> Result<(), StoreError> {
        self.wants_review = false;
        self.fill_purse();
        let is_paid = self.purse.reached(tokio::time::Instant::now()).is_none();
        let may_ask = |refinement: &Refinement| is_paid || !matches!(refinement.critic, Critic::Model(_));
        let Some(refinement) = self.refinement.clone().filter(may_ask) else {
            let end = self.end_turn();
            return self.record(end).await;
        };
        let (task, earlier) = self.task();
        let last = self.state.view.entries().last();
        let review = Review {
            critic: refinement.critic,
            model: self.model.clone(),
            task,
            earlier,
            answer: self.state.answer.clone().unwrap_or_default(),
            finished: last.is_some_and(|entry| entry.message.role == Role::Tool),
            before: self.state.turn_checkpoint,
        };
        let (workspace, client) = (self.workspace.clone(), self.executor.clone());
        let behind = self.state.leaf.clone();
        let criticise = async move {
            let client = async {
                match client.filter(|client| !client.is_closed()) {
                    Some(client) => Ok(client),
                    None => work::connected(workspace.as_ref())
                        .await
                        .map_err(|error| error.to_string()),
                }
            };
            let (criticism, used) = review.criticise(client).await;
            Outcome::Reviewed {
                behind,
                criticism,
                used,
            }
        };
        self.work = Some(Work::Review {
            future: criticise.boxed(),
        });
        Ok(())
    }

    /// What the user said last with what the agent was told since, and what was said before.
    fn task(&self) -> (String, String) {
        let entries = self.state.view.entries();
        let last = self.state.last_user_message_id.as_ref();
        let position = entries
            .iter()
            .position(|entry| last.is_some_and(|last| entry.events.contains(last)));
        let (earlier, task) = entries.split_at(position.unwrap_or_default());
        let said = |entries: &[Entry]| {
            let said = entries.iter().filter(|entry| entry.message.role == Role::User);
            let texts: Vec<_> = said.map(|entry| text_of(&entry.message.content)).collect();
            texts.join("\n\n")
        };
        (said(task), said(earlier))
    }

    /// Sends the agent back, or ends the turn. A critic who fails keeps nobody from ending it.
    pub(super) async fn take_review(
        &mut self,
        behind: Option<EventId>,
        criticism: Result<Criticism, String>,
        used: Vec<OtherUse>,
    ) -> Result<(), StoreError> {
        let mut spent = Spent::default();
        for other in used {
            spent.add(&Delta::OtherUse(other));
        }
        let stats = spending::add_call(&self.state.stats, &self.call(), &spent, None);
        self.record_stats(stats).await?;
        if self.state.leaf != behind {
            return Ok(()); // something was said meanwhile, and is answered first
        }
        let refinement = self.refinement.as_ref();
        let threshold = refinement.map_or(0.0, |refinement| refinement.threshold);
        let most = refinement.map_or(0, |refinement| refinement.max_iterations);
        let criticism = match criticism {
            Ok(criticism) => criticism,
            Err(error) => {
                tracing::warn!(%error, "the result could not be criticised");
                let end = self.end_turn();
                return self.record(end).await;
            }
        };
        let goes_on = criticism.score < threshold && self.state.refinements < most;
        let told = json!({"score": criticism.score, "message": criticism.message, "goes_on": goes_on});
        let mut drafts = vec![Draft::new(Source::Environment, state::update(key::CRITIC, told))];
        if goes_on {
            let text = format!(
                "A review of what you changed found it not good enough yet ({:.2} of {threshold:.2}): {}\nMend that, then \
                 finish again.",
                criticism.score, criticism.message
            );
            let back = MessageEvent::new(Message::text(Role::User, text));
            drafts.push(Draft::new(Source::Environment, back));
        } else {
            drafts.extend(self.end_turn());
        }
        self.record(drafts).await
    }
}
