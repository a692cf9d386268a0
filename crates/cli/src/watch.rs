//! Runs a conversation and shows what happens until it stops.

use std::io::{IsTerminal, Stdout, Write};
use std::path::Path;
use std::time::Duration;

use deft_engine::{Conversation, ExecutorFate, Live, State};
use deft_store::{ConversationRecord, Store};
use deft_types::{ConversationId, Event, EventBody, EventId, Message, Seq, Status};
use futures::StreamExt;
use indicatif::ProgressBar;
use tokio::signal::unix::{SignalKind, signal};
use uuid::Uuid;

use crate::exit::Exit;
use crate::output::{Printer, Style, one_line, spent_line};

/// For whom to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// People.
    Human,
    /// Programs: one JSON event a line.
    Json,
}

/// A loaded conversation with what is needed to show it.
pub(crate) struct Watched<'a> {
    pub(crate) conversation: &'a Conversation,
    pub(crate) store: &'a dyn Store,
    /// What the index said of it before it was loaded.
    pub(crate) record: &'a ConversationRecord,
    pub(crate) data_dir: &'a Path,
}

impl Watched<'_> {
    /// Sends the task, if there is one, lets the agent run, and prints every event until it stops. Ctrl-C
    /// interrupts it. Nothing it started is left running.
    pub(crate) async fn run(&self, task: Option<Message>, format: Format) -> anyhow::Result<Exit> {
        let shown = self.run_and_print(task, format).await;
        self.conversation.close(ExecutorFate::End).await;
        shown
    }

    async fn run_and_print(&self, task: Option<Message>, format: Format) -> anyhow::Result<Exit> {
        let Self {
            conversation,
            store,
            record,
            data_dir,
        } = *self;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut events = store.follow(record.id, record.last_seq.map_or(Seq::FIRST, Seq::next));
        let mut live = conversation.live();
        let mut screen = Screen::new(format);

        if let Some(task) = task {
            conversation.send(EventId::from(Uuid::new_v4()), task).await?;
        }
        conversation.run().await?;

        let mut settled = std::pin::pin!(conversation.settled());
        let mut end = End::default();
        loop {
            tokio::select! {
                biased; // what happened before the news that no more will
                Some(next) = events.next() => {
                    let (seq, event) = next?;
                    screen.event(&event)?;
                    end.saw(seq, &event);
                }
                piece = live.recv() => if let Ok(piece) = piece { // otherwise some were left out: we were slow
                    screen.live(&piece)?;
                },
                Some(()) = interrupt.recv() => if end.stop(conversation).await? { break },
                Some(()) = terminate.recv() => if end.stop(conversation).await? { break },
                progress = &mut settled, if end.last.is_none() => {
                    if let Some(fault) = progress.fault {
                        anyhow::bail!(fault);
                    }
                    end.last = store.conversation(record.id).await?.and_then(|record| record.last_seq);
                }
            }
            if end.last.is_some() && end.last <= end.seen {
                break;
            }
        }
        let state = conversation.inspect().await?;
        screen.finish(&state, record.id, data_dir)?;
        Ok(end.exit(state.status))
    }
}

/// What is known about how it ends.
#[derive(Default)]
struct End {
    seen: Option<Seq>,
    /// The last event of the run, once it has settled.
    last: Option<Seq>,
    limit_reached: bool,
    stopped_by_user: bool,
}

impl End {
    fn saw(&mut self, seq: Seq, event: &Event) {
        self.seen = Some(seq);
        if let EventBody::ConversationError(error) = &event.body {
            self.limit_reached = matches!(error.code.as_str(), "MaxIterationsReached" | "MaxBudgetReached");
        }
    }

    /// Stops the run. Asked a second time it does not wait for that: true means leave at once.
    async fn stop(&mut self, conversation: &Conversation) -> anyhow::Result<bool> {
        if std::mem::replace(&mut self.stopped_by_user, true) {
            return Ok(true);
        }
        conversation.interrupt().await?;
        Ok(false)
    }

    fn exit(&self, status: Status) -> Exit {
        match status {
            Status::Finished => Exit::Finished,
            _ if self.stopped_by_user => Exit::Interrupted,
            Status::Stuck | Status::WaitingForConfirmation => Exit::Stopped,
            Status::Error if self.limit_reached => Exit::Stopped,
            Status::Idle | Status::Running | Status::Paused | Status::Error | Status::Deleting => {
                Exit::Failed
            }
        }
    }
}

/// Where it is shown: lines on standard output and, on a terminal, what happens right now below them.
struct Screen {
    paper: Paper,
    spinner: Option<ProgressBar>,
    /// Replies of the model so far.
    steps: u64,
}

enum Paper {
    Human(Printer<anstream::AutoStream<Stdout>>),
    Json(Stdout),
}

impl Screen {
    fn new(format: Format) -> Self {
        let paper = match format {
            Format::Human => Paper::Human(Printer::new(anstream::stdout(), Style::coloured())),
            Format::Json => Paper::Json(std::io::stdout()),
        };
        let spinner = (format == Format::Human && std::io::stderr().is_terminal()).then(|| {
            let spinner = ProgressBar::new_spinner();
            spinner.enable_steady_tick(Duration::from_millis(100));
            spinner
        });
        Self {
            paper,
            spinner,
            steps: 0,
        }
    }

    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        if matches!(&event.body, EventBody::StateUpdate(update) if update.key == "stats") {
            self.steps += 1;
        }
        match (&mut self.paper, &self.spinner) {
            (Paper::Json(out), _) => writeln!(out, "{}", serde_json::to_string(event)?)?,
            (Paper::Human(printer), Some(spinner)) => spinner.suspend(|| printer.print(event))?,
            (Paper::Human(printer), None) => printer.print(event)?,
        }
        if let (Some(spinner), EventBody::Action(action)) = (&self.spinner, &event.body) {
            spinner.set_message(one_line(action.summary.as_deref().unwrap_or(&action.tool_name)));
        }
        Ok(())
    }

    fn live(&mut self, piece: &Live) -> anyhow::Result<()> {
        if let (
            Live::Retry {
                attempt,
                wait,
                reason,
                ..
            },
            Paper::Human(_),
        ) = (piece, &self.paper)
        {
            let line = format!("{reason}. Attempt {attempt} follows in {} s.", wait.as_secs());
            self.note(&one_line(&line))?;
        }
        let Some(spinner) = &self.spinner else {
            return Ok(());
        };
        match piece {
            Live::ReplyStarted { .. } => spinner.set_message("thinking"),
            Live::Delta { text, .. } | Live::Output { chunk: text, .. } => {
                if let Some(line) = text.lines().rfind(|line| !line.trim().is_empty()) {
                    spinner.set_message(one_line(line));
                }
            }
            Live::Retry { .. } => spinner.set_message("waiting"),
            Live::ReplyAborted { .. } => spinner.set_message("stopped"),
        }
        Ok(())
    }

    /// A line about what is going on, which is no event.
    fn note(&self, line: &str) -> std::io::Result<()> {
        let print = || writeln!(anstream::stderr(), "{line}");
        match &self.spinner {
            Some(spinner) => spinner.suspend(print),
            None => print(),
        }
    }

    /// The last lines: what it took, and how to go on.
    fn finish(&mut self, state: &State, id: ConversationId, store: &Path) -> anyhow::Result<()> {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
        if let Paper::Human(_) = self.paper {
            let mut out = anstream::stdout();
            writeln!(out, "{}", spent_line(self.steps, &state.stats))?;
            writeln!(out, "Conversation {id} is kept in {}.", store.display())?;
            writeln!(out, "Go on with: deft run --resume {} -t TASK", &id.hex()[..8])?;
        }
        Ok(())
    }
}
