//! Runs a conversation and shows what happens until it stops.

use std::io;
use std::path::Path;
use std::sync::Arc;

use deft_engine::{Conversation, ExecutorFate, GOAL, Goal, Provided};
use deft_store::{ConversationRecord, Store};
use deft_types::{Event, EventBody, EventId, Message, Role, Seq, Status};
use futures::StreamExt;
use futures::future::OptionFuture;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use uuid::Uuid;

use crate::exit::Exit;
use crate::host_prompt::HostPrompt;
use crate::output::one_line;
use crate::screen::{Format, Screen};

/// What an agent hears that waited for a word and was told something else.
const SAID_OTHERWISE: &str = "The user wants something else.";

/// A loaded conversation with what is needed to show it.
pub(crate) struct Watched<'a> {
    pub(crate) conversation: &'a Conversation,
    pub(crate) store: &'a dyn Store,
    /// What the index said of it before it was loaded.
    pub(crate) record: &'a ConversationRecord,
    pub(crate) data_dir: &'a Path,
    /// What is worked towards until nothing of it is missing, where the task is not all.
    pub(crate) goal: Option<Goal>,
}

impl Watched<'_> {
    /// Sends the task, if there is one, lets the agent run, and prints every event until it stops. Ctrl-C
    /// interrupts it; asked a second time it does not wait. Nothing it started is left running.
    pub(crate) async fn run(mut self, task: Option<Message>, format: Format) -> anyhow::Result<Exit> {
        let mut signals = StopSignals::new()?;
        let shown = self.run_and_print(task, format, &mut signals).await;
        let shown = shown.map_err(|error| self.unread(error));
        if shown.is_err() {
            let _ = self.conversation.interrupt().await; // nobody watches any more
        }
        tokio::select! {
            () = self.conversation.close(ExecutorFate::End) => {}
            () = signals.next() => {}
        }
        shown
    }

    /// What to say where whoever read what is printed is gone, as with `| head`.
    fn unread(&self, error: anyhow::Error) -> anyhow::Error {
        match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::BrokenPipe) => error.context(format!(
                "nobody reads the output any more, so the run was stopped; go on with `deft run --resume {}`",
                &self.record.id.hex()[..8]
            )),
            _ => error,
        }
    }

    async fn run_and_print(
        &mut self,
        task: Option<Message>,
        format: Format,
        signals: &mut StopSignals,
    ) -> anyhow::Result<Exit> {
        let Self {
            conversation,
            store,
            record,
            data_dir,
            ref mut goal,
        } = *self;
        let mut events = store.follow(record.id, record.last_seq.map_or(Seq::FIRST, Seq::next));
        let mut live = conversation.live();
        let screen = Screen::start(format);
        let mut prompt = HostPrompt::of_person(conversation, format);

        if let Some(task) = task {
            if record.status == Status::WaitingForConfirmation {
                conversation.reject(SAID_OTHERWISE.to_owned()).await?; // to run it would be to agree
            }
            // The first message waits until the workspace is there.
            tokio::select! {
                sent = conversation.send(EventId::from(Uuid::new_v4()), task) => sent?,
                () = signals.next() => return Ok(Exit::Interrupted),
            }
        }
        conversation.run().await?;

        let mut settled = Box::pin(conversation.settled());
        let mut stopping = OptionFuture::from(None);
        let mut end = End::default();
        // An event that waits for the screen: a slow one must not keep us from anything else.
        let mut next: Option<(Seq, Arc<Event>)> = None;
        loop {
            if end.is_reached() {
                let next = tokio::select! {
                    next = next_round(conversation, goal) => next?,
                    () = signals.next() => None,
                };
                let Some(message) = next else { break };
                conversation.send(EventId::from(Uuid::new_v4()), message).await?;
                conversation.run().await?;
                settled = Box::pin(conversation.settled());
                end.settled = false;
            }
            tokio::select! {
                biased; // what happened before the news that no more will
                Some(stopped) = &mut stopping => {
                    stopping = OptionFuture::from(None);
                    stopped?;
                }
                room = screen.room(), if next.is_some() => {
                    let Some((seq, event)) = next.take() else { continue };
                    end.saw(seq, &event);
                    if let Some(prompt) = &mut prompt {
                        prompt.saw(&event);
                    }
                    match room {
                        Some(room) => room.event(event),
                        None => break, // it is gone; its own error says why
                    }
                }
                Some(event) = events.next(), if next.is_none() => next = Some(event?),
                piece = live.recv() => if let Ok(piece) = piece { // otherwise some were left out: we were slow
                    screen.live(piece);
                },
                answer = typed(&mut prompt) => if let Some(prompt) = &mut prompt {
                    prompt.answer(&answer).await;
                },
                () = signals.next() => {
                    end.stop_requests += 1;
                    if end.is_in_a_hurry() {
                        break;
                    }
                    stopping = OptionFuture::from(Some(Box::pin(conversation.interrupt())));
                }
                progress = &mut settled, if !end.settled => {
                    if let Some(fault) = progress.fault {
                        anyhow::bail!(fault);
                    }
                    end.settled = true;
                    end.last = store.conversation(record.id).await?.and_then(|record| record.last_seq);
                }
            }
        }
        let state = conversation.inspect().await?;
        let mut exit = end.exit(state.status);
        tell(&state.undecided);
        if let Some(missing) = goal.as_ref().and_then(Goal::missed) {
            tell_missed(missing);
            exit = Exit::Stopped;
        }
        if !end.is_in_a_hurry() {
            tokio::select! {
                printed = screen.finish(&state, record.id, data_dir) => printed?,
                () = signals.next() => {} // whoever reads is asleep
            }
        }
        Ok(exit)
    }
}

/// What somebody types who is asked something.
async fn typed(prompt: &mut Option<HostPrompt<'_>>) -> String {
    match prompt {
        Some(prompt) => prompt.typed().await,
        None => std::future::pending().await,
    }
}

/// On standard error, beside what is shown of the conversation.
#[allow(clippy::print_stderr)] // this is the command line
fn tell(undecided: &[Provided]) {
    for provided in undecided {
        let (kind, path) = (provided.kind.name(), one_line(&provided.path));
        anstream::eprintln!(
            "deft: note: the project's {kind} {path} would run commands, and did not; `deft trust` decides that"
        );
    }
}

/// That a goal had all its rounds and is not reached.
#[allow(clippy::print_stderr)] // this is the command line
fn tell_missed(missing: &str) {
    let what = match one_line(missing) {
        said if said.trim().is_empty() => String::new(),
        said => format!("; still missing: {said}"),
    };
    anstream::eprintln!("deft: note: the goal had all its rounds and is not reached{what}");
}

/// What the agent is told next, if the result was judged and something of the goal is missing.
async fn next_round(conversation: &Conversation, goal: &mut Option<Goal>) -> anyhow::Result<Option<Message>> {
    let Some(goal) = goal.as_mut().filter(|goal| goal.is_active()) else {
        return Ok(None);
    };
    if conversation.inspect().await?.status == Status::Finished {
        goal.judge(conversation).await?;
    } else {
        goal.interrupt();
    }
    conversation.tell(GOAL.to_owned(), json!(goal)).await?;
    Ok(goal
        .is_active()
        .then(|| Message::text(Role::User, goal.message())))
}

/// Everything that asks us to end: Ctrl-C, a supervisor, a closed terminal.
struct StopSignals([Signal; 4]);

impl StopSignals {
    fn new() -> std::io::Result<Self> {
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
            SignalKind::quit(),
        ];
        let [interrupt, terminate, hangup, quit] = kinds.map(signal);
        Ok(Self([interrupt?, terminate?, hangup?, quit?]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup, quit] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        }
    }
}

/// What is known about how it ends.
#[derive(Default)]
struct End {
    seen: Option<Seq>,
    settled: bool,
    /// The last event of the log, once it has settled.
    last: Option<Seq>,
    limit_reached: bool,
    /// How often the user has asked to stop.
    stop_requests: u32,
}

impl End {
    fn saw(&mut self, seq: Seq, event: &Event) {
        self.seen = Some(seq);
        if let EventBody::ConversationError(error) = &event.body {
            self.limit_reached = matches!(error.code.as_str(), "MaxIterationsReached" | "MaxBudgetReached");
        }
    }

    fn is_in_a_hurry(&self) -> bool {
        self.stop_requests > 1
    }

    fn is_reached(&self) -> bool {
        self.settled && self.last <= self.seen
    }

    fn exit(&self, status: Status) -> Exit {
        match status {
            Status::Finished => Exit::Finished,
            _ if self.stop_requests > 0 => Exit::Interrupted,
            Status::Stuck | Status::WaitingForConfirmation => Exit::Stopped,
            Status::Error if self.limit_reached => Exit::Stopped,
            Status::Idle | Status::Running | Status::Paused | Status::Error | Status::Deleting => {
                Exit::Failed
            }
        }
    }
}
