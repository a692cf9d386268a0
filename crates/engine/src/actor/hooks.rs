//! When hooks run, and what becomes of what they say.

use std::collections::HashSet;
use std::time::Duration;

use deft_store::StoreError;
use deft_types::{ActionId, EventBody, Extra, Message, MessageEvent, Role, Source, UserRejectObservation};
use futures::FutureExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Actor;
use super::work::{Outcome, Work};
use crate::hook_run::{Occasion, Runner, Verdict};
use crate::hooks::HookEvent;
use crate::state::OpenCall;
use crate::turn::Draft;

/// How long the hooks of the end may hold up the end.
const END_LIMIT: Duration = Duration::from_secs(10);

/// How far the hooks of a loaded conversation are.
#[derive(Default)]
pub(crate) struct Hooked {
    /// Whether those of its beginning have run.
    started: bool,
    /// Calls that may run.
    calls: HashSet<ActionId>,
    /// Results that hooks are still to hear of.
    answered: Vec<Occasion>,
    /// Whether the agent wants to end the run and the hooks have not said yes.
    stopping: bool,
}

impl Actor {
    /// Begins to run the hooks that are due, if some are.
    pub(super) fn begin_hooks(&mut self) -> bool {
        if self.hooks.is_empty() {
            return false;
        }
        let due = self.due();
        if due.is_empty() {
            return false;
        }
        if self
            .executor
            .as_ref()
            .is_none_or(deft_executor::Client::is_closed)
        {
            // What is taken off a list is put there again.
            let answered = due
                .into_iter()
                .filter(|occasion| occasion.event == HookEvent::PostToolUse);
            self.hooked.answered.extend(answered);
            self.connect();
            return true;
        }
        if due
            .iter()
            .any(|occasion| occasion.event == HookEvent::SessionStart)
        {
            self.hooked.started = true;
        }
        self.run_hooks(due);
        true
    }

    fn run_hooks(&mut self, due: Vec<Occasion>) {
        let Some(client) = self.executor.clone() else {
            return;
        };
        let cancel = CancellationToken::new();
        let runner = self.runner(client, cancel.clone());
        let run = async move {
            let mut verdicts = Vec::new();
            for occasion in due {
                verdicts.push(runner.run(occasion).await);
            }
            Outcome::Hooked(verdicts)
        };
        self.work = Some(Work::Hooks {
            future: run.boxed(),
            cancel,
        });
    }

    /// What hooks are to be asked about now: the next kind of event that there is one of.
    fn due(&mut self) -> Vec<Occasion> {
        if !self.hooked.started {
            let start = self.occasion(HookEvent::SessionStart, Extra::new());
            if !start.hooks.is_empty() {
                return vec![start];
            }
            self.hooked.started = true;
        }
        if !self.hooked.answered.is_empty() {
            return std::mem::take(&mut self.hooked.answered);
        }
        let unhooked = self
            .state
            .unhooked
            .iter()
            .filter(|_| self.state.open_calls.is_empty());
        let said = unhooked.map(|said| Occasion {
            message: Some(said.id.clone()),
            ..self.occasion(
                HookEvent::UserPromptSubmit,
                Extra::from_iter([("message".to_owned(), json!(said.text))]),
            )
        });
        let said: Vec<_> = said.filter(|occasion| !occasion.hooks.is_empty()).collect();
        if !said.is_empty() {
            return said;
        }
        let is_new = |call: &&OpenCall| {
            call.event.action.is_some()
                && !self.hooked.calls.contains(&call.id)
                && (self.unsent.contains(&call.id) || self.may_repeat(call))
        };
        let calls = self.state.open_calls.iter().filter(is_new);
        let calls = calls.map(|call| self.about_call(HookEvent::PreToolUse, call, None));
        let calls: Vec<_> = calls.filter(|occasion| !occasion.hooks.is_empty()).collect();
        if !calls.is_empty() {
            return calls;
        }
        if self.hooked.stopping && self.state.open_calls.is_empty() {
            let why = json!({"reason": "agent_finished"});
            return vec![self.occasion(HookEvent::Stop, Extra::from_iter([("metadata".to_owned(), why)]))];
        }
        Vec::new()
    }

    fn occasion(&self, event: HookEvent, more: Extra) -> Occasion {
        // Scripts count on every field, also on those that say nothing here.
        let mut input = Extra::from_iter(
            [
                ("event_type", json!(event.name())),
                ("tool_name", Value::Null),
                ("tool_input", Value::Null),
                ("tool_response", Value::Null),
                ("message", Value::Null),
                ("session_id", json!(self.lease.conversation())),
                ("working_dir", json!(self.directory)),
                ("metadata", json!({})),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        input.extend(more);
        Occasion {
            event,
            hooks: self.hooks.of(event, None),
            tool: None,
            action: None,
            message: None,
            input,
        }
    }

    fn about_call(&self, event: HookEvent, call: &OpenCall, response: Option<Value>) -> Occasion {
        let tool = &call.event.tool_name;
        let mut more = Extra::from_iter([
            ("tool_name".to_owned(), json!(tool)),
            ("tool_input".to_owned(), json!(call.event.action)),
        ]);
        more.extend(response.map(|response| ("tool_response".to_owned(), response)));
        Occasion {
            hooks: self.hooks.of(event, Some(tool)),
            tool: Some(tool.clone()),
            action: Some(call.id.clone()),
            ..self.occasion(event, more)
        }
    }

    fn runner(&self, client: deft_executor::Client, cancel: CancellationToken) -> Runner {
        self.fill_purse();
        let may_spend = self.spent_budget().is_none();
        Runner {
            client,
            model: may_spend.then(|| self.model.clone()),
            spending: self.spending.clone(),
            purse: self.purse.clone(),
            directory: self.directory.clone(),
            session: self.lease.conversation().to_string(),
            cancel,
        }
    }

    /// A call has its result: hooks will hear of it.
    pub(super) fn tell_hooks(&mut self, call: &OpenCall, result: Option<&Draft>) {
        let Some(EventBody::Observation(observed)) = result.map(|result| &result.body) else {
            return;
        };
        let response = json!(observed.observation);
        let occasion = self.about_call(HookEvent::PostToolUse, call, Some(response));
        if !occasion.hooks.is_empty() {
            self.hooked.answered.push(occasion);
        }
    }

    /// Tells hooks of the last results of a run that has ended.
    pub(super) fn settle_hooks(&mut self) {
        if self.work.is_none() && !self.hooked.answered.is_empty() && self.executor.is_some() {
            let answered = std::mem::take(&mut self.hooked.answered);
            self.run_hooks(answered);
        }
    }

    /// Whether hooks are asked before the turn ends.
    pub(super) fn asks_to_stop(&mut self) -> bool {
        self.hooked.stopping = !self.hooks.of(HookEvent::Stop, None).is_empty();
        self.hooked.stopping
    }

    /// The user has said something: nobody ends now.
    pub(super) fn keep_going(&mut self) {
        self.hooked.stopping = false;
    }

    pub(super) async fn take_verdicts(&mut self, verdicts: Vec<Verdict>) -> Result<(), StoreError> {
        let mut drafts: Vec<_> = self.spent().into_iter().collect();
        let mut allowed = Vec::new();
        for verdict in verdicts {
            let Verdict {
                occasion,
                executions,
                refused,
                context,
            } = verdict;
            drafts.extend(
                executions
                    .into_iter()
                    .map(|execution| Draft::new(Source::Hook, execution)),
            );
            drafts.extend(context.into_iter().map(said));
            match (occasion.event, refused) {
                (HookEvent::PreToolUse, None) => allowed.extend(occasion.action),
                (HookEvent::PreToolUse, Some(reason)) => {
                    let call = self
                        .state
                        .open_calls
                        .iter()
                        .find(|call| Some(&call.id) == occasion.action.as_ref());
                    drafts.extend(call.map(|call| rejection(call, reason)));
                }
                // What was said later, also while the hook ran, is to be answered.
                (HookEvent::UserPromptSubmit, Some(_))
                    if occasion.message == self.state.last_user_message_id =>
                {
                    drafts.extend(self.close_turn());
                }
                (HookEvent::Stop, Some(reason)) => {
                    self.hooked.stopping = false;
                    drafts.push(said(format!("You are not done yet: {reason}")));
                }
                (HookEvent::Stop, None) if self.hooked.stopping => {
                    self.hooked.stopping = false;
                    drafts.extend(self.close_turn());
                }
                (HookEvent::Stop, None)
                | (
                    HookEvent::UserPromptSubmit
                    | HookEvent::PostToolUse
                    | HookEvent::SessionStart
                    | HookEvent::SessionEnd,
                    _,
                ) => {}
            }
        }
        self.record(drafts).await?;
        self.hooked.calls.extend(allowed);
        let open: HashSet<_> = self.state.open_calls.iter().map(|call| &call.id).collect();
        self.hooked.calls.retain(|id| open.contains(id));
        Ok(())
    }

    /// Runs the hooks of the end, if those of the beginning had their turn.
    pub(super) async fn end_session(&mut self) {
        let end = self.occasion(HookEvent::SessionEnd, Extra::new());
        let Some(client) = self
            .executor
            .clone()
            .filter(|_| self.hooked.started && !end.hooks.is_empty())
        else {
            return;
        };
        let runner = self.runner(client, CancellationToken::new());
        if let Ok(verdict) = tokio::time::timeout(END_LIMIT, runner.run(end)).await {
            let _ = self.take_verdicts(vec![verdict]).await; // it ends either way
        }
    }
}

fn said(text: String) -> Draft {
    Draft::new(Source::Hook, MessageEvent::new(Message::text(Role::User, text)))
}

fn rejection(call: &OpenCall, reason: String) -> Draft {
    Draft::new(
        Source::Environment,
        UserRejectObservation {
            tool_name: call.event.tool_name.clone(),
            tool_call_id: call.event.tool_call_id.clone(),
            rejection_reason: reason,
            rejection_source: "hook".to_owned(),
            action_id: call.id.clone(),
            extra: Extra::new(),
        },
    )
}
