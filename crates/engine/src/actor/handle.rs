//! Carries out commands, each of them once however often its client asks.

use deft_types::{EventBody, EventId, Source};
use serde::Serialize;
use serde_json::{Value, json};

use super::Actor;
use crate::command::{Command, CommandError, Done, Envelope};
use crate::state::{self, key};
use crate::turn::Draft;

/// Commands that wait until files are what they are to be.
const MAX_HELD: usize = 64;

impl Actor {
    /// Carries a command out, or answers as before where its client asked for it before.
    pub(super) async fn handle(&mut self, sent: Envelope) {
        self.settle_doubt().await;
        if self.changes_files() && sent.command.waits_for_files() {
            if self.held.len() >= MAX_HELD {
                return sent.command.answer(Err(CommandError::TooManyWait(MAX_HELD)));
            }
            return self.held.push(sent);
        }
        let Envelope { request, command } = sent;
        self.request = request.zip(command.verb());
        if let Some((id, verb)) = self.request.clone() {
            match self.noted(&id, verb).await {
                Ok(None) => {}
                Ok(Some(answer)) => return command.answer(Ok(answer)),
                Err(error) => return command.answer(Err(error)),
            }
        }
        if let Some(answered) = self.carry_out(command).await {
            self.tell(answered).await;
        }
    }

    /// Carries out what waited for files to be what they are to be.
    pub(super) async fn release(&mut self) {
        if !self.changes_files() {
            for sent in std::mem::take(&mut self.held) {
                self.handle(sent).await;
            }
        }
    }

    /// Refuses it instead: somebody has said stop.
    pub(super) fn drop_held(&mut self) {
        for sent in std::mem::take(&mut self.held) {
            sent.command.answer(Err(CommandError::Interrupted));
        }
    }

    /// Notes what came of a command where its client may ask again, and says it.
    pub(super) async fn tell(&mut self, answered: Answered) {
        let note = answered.note.as_ref().and_then(|answer| self.note(answer));
        let noted = self.record(note.into_iter().collect()).await;
        (answered.say)(noted.map_err(CommandError::from));
    }

    /// What was answered to a request, if it was carried out.
    async fn noted(&mut self, id: &EventId, verb: &str) -> Result<Option<Value>, CommandError> {
        let conversation = self.lease.conversation();
        let Some(seq) = self.store.position(conversation, id).await? else {
            return Ok(None);
        };
        let there = self.store.read(conversation, seq, 1).await?;
        match there.first().map(|(_, event)| &event.body) {
            Some(EventBody::StateUpdate(update))
                if update.key == key::REQUEST && update.value["verb"] == verb =>
            {
                Ok(Some(update.value["answer"].clone()))
            }
            _ => Err(CommandError::IdTaken(id.clone())),
        }
    }

    /// The event that the request that is carried out was answered so.
    pub(super) fn note(&mut self, answer: &impl Serialize) -> Option<Draft> {
        let (id, verb) = self.request.take()?;
        let note = state::update(key::REQUEST, json!({"verb": verb, "answer": answer}));
        Some(Draft::new(Source::Environment, note).with_id(id))
    }

    async fn carry_out(&mut self, command: Command) -> Option<Answered> {
        Some(match command {
            Command::Send { id, message, done } => answer(done, self.admit(id, *message).await),
            Command::Run { within, done } => answer(done, self.start_run(&within).await),
            Command::Pause { done } => answer(done, self.pause().await),
            Command::Interrupt { done } => answer(done, self.interrupt().await),
            Command::SwitchModel { name, model, done } => answer(done, self.switch_model(name, model).await),
            Command::SwitchAgentModel { model, done } => answer(done, self.switch_agent_model(model).await),
            Command::Respond { answers, done } => answer(done, self.respond(answers).await),
            Command::Reject { reason, done } => answer(done, self.reject(reason).await),
            Command::ApproveServer { name, pin, done } => answer(done, self.approve_server(&name, pin).await),
            Command::SetPolicy { policy, done } => answer(done, self.set_policy(policy).await),
            Command::SetAnalyzer { analyzer, done } => answer(done, self.set_analyzer(analyzer).await),
            Command::Allow { rule, scope, done } => answer(done, self.allow(&rule, scope).await),
            Command::Disallow { rule, done } => answer(done, self.disallow(&rule).await),
            Command::AnswerHost { asked, to, done } => answer(done, self.answer_host(asked, to).await),
            Command::DisallowHost { host, done } => answer(done, self.disallow_host(&host).await),
            Command::Fork { new, fork, done } => answer(done, self.fork(*new, fork).await),
            Command::SetSecrets { secrets, done } => answer(done, self.set_secrets(secrets).await),
            Command::PreviewFiles { to, done } => {
                self.preview_files(to, done);
                return None;
            }
            Command::RestoreFiles { to, overwrite, done } => {
                let tell = |restored: Result<_, CommandError>| answer(done, restored);
                return self.restore_files(to, overwrite, None, Box::new(tell));
            }
            Command::Rewind {
                to,
                what,
                overwrite,
                done,
            } => return self.rewind(to, what, overwrite, done).await,
            Command::Rerun { done } => return self.rerun(done).await,
            Command::Condense { done } => return self.condense(done).await,
            Command::Navigate { to, done } => answer(done, self.navigate(to).await),
            Command::Queue { change, done } => answer(done, self.change_queue(*change).await),
            Command::AddBudget { id, more, done } => answer(done, self.add_budget(id, more).await),
            Command::SetLimits { limits, done } => answer(done, self.set_limits(limits).await),
            Command::Tell { id, key, value, done } => {
                let mut news = Draft::new(Source::Environment, state::update(&key, value));
                news.id = id;
                answer(done, self.record(vec![news]).await)
            }
            Command::Snapshot { done } => {
                let _ = done.send(self.snapshot());
                return None;
            }
            Command::AddUsage {
                usage_id,
                profile,
                spent,
                reply,
                done,
            } => {
                let told = self.add_usage(&usage_id, &profile, &spent, reply.as_deref());
                answer(done, told.await)
            }
            Command::Label { title, tags, done } => answer(done, self.label(title, tags).await),
            Command::Recall { done } => {
                let _ = done.send(Ok(None)); // it was not asked before
                return None;
            }
            Command::Context { most, done } => {
                let _ = done.send(self.context(most));
                return None;
            }
            Command::Inspect { done } => {
                let _ = done.send(self.state.clone());
                return None;
            }
            Command::Close { .. } => return None, // the loop has taken it
        })
    }
}

/// What came of a command, not said yet.
pub(super) struct Answered {
    /// What is noted where the client may ask again; what failed may be tried again and is not.
    note: Option<Value>,
    /// Says it, or why it could not be noted.
    say: Box<dyn FnOnce(Result<(), CommandError>) + Send>,
}

/// Whoever asked may have gone; what was done stays done.
pub(super) fn answer<T, E>(done: Done<T>, result: Result<T, E>) -> Answered
where
    T: Serialize + Send + 'static,
    E: Into<CommandError>,
{
    let result = result.map_err(Into::into);
    Answered {
        note: result.as_ref().ok().map(|answer| json!(answer)),
        say: Box::new(move |noted| drop(done.send(noted.and(result)))),
    }
}
