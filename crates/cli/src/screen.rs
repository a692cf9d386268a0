//! Where a run is shown: lines on standard output and, on a terminal, what happens right now below them.
//!
//! It prints from a thread of its own, because whoever reads may be slow or asleep, and nothing else may wait.

use std::io::{self, IsTerminal, Stdout, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use deft_engine::{Live, State};
use deft_types::{ConversationId, Event, EventBody, Stats, Status};
use indicatif::ProgressBar;
use tokio::sync::{mpsc, oneshot};

use crate::output::{Printer, Style, json_line, one_line, spent_line};

/// Things to show that wait for the screen. Events wait their turn; what only decorates is left out.
const BACKLOG: usize = 256;

/// For whom to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// People.
    Human,
    /// Programs: one JSON event a line.
    Json,
}

enum Item {
    Event(Arc<Event>),
    Live(Live),
    /// What it took, and how to go on.
    Farewell(Box<Stats>, String),
}

/// The way to the screen.
pub(crate) struct Screen {
    items: mpsc::Sender<Item>,
    printed: oneshot::Receiver<io::Result<()>>,
    format: Format,
}

/// A place for one event.
pub(crate) struct Room<'a>(mpsc::Permit<'a, Item>);

impl Room<'_> {
    pub(crate) fn event(self, event: Arc<Event>) {
        self.0.send(Item::Event(event));
    }
}

impl Screen {
    pub(crate) fn start(format: Format) -> Self {
        let (items, queue) = mpsc::channel(BACKLOG);
        let (done, printed) = oneshot::channel();
        // Ends with the queue, or when nobody reads any more; a reader that is asleep does not keep us from leaving.
        thread::spawn(move || done.send(print_all(format, queue)));
        Self {
            items,
            printed,
            format,
        }
    }

    /// Waits until there is room for an event; `None`: printing has failed.
    pub(crate) async fn room(&self) -> Option<Room<'_>> {
        self.items.reserve().await.ok().map(Room)
    }

    pub(crate) fn live(&self, piece: Live) {
        let _ = self.items.try_send(Item::Live(piece));
    }

    /// Prints the last lines and waits until all is printed.
    pub(crate) async fn finish(
        self,
        state: &State,
        id: ConversationId,
        data_dir: &Path,
    ) -> anyhow::Result<()> {
        if self.format == Format::Human {
            let short = &id.hex()[..8];
            let next = match state.status {
                Status::WaitingForConfirmation => format!(
                    "It waits for your word.\nAgree with: deft run --resume {short}\nRefuse, and say what to do instead, \
                     with: deft run --resume {short} -t TASK"
                ),
                Status::Idle | Status::Finished => format!("Go on with: deft run --resume {short} -t TASK"),
                _ => format!("Go on with: deft run --resume {short}"),
            };
            let hint = format!("Conversation {id} is kept in {}.\n{next}", data_dir.display());
            let farewell = Item::Farewell(Box::new(state.stats.clone()), hint);
            let _ = self.items.send(farewell).await; // what is wrong is said below
        }
        drop(self.items);
        self.printed.await.unwrap_or(Ok(()))?;
        Ok(())
    }
}

/// What the thread does.
fn print_all(format: Format, mut items: mpsc::Receiver<Item>) -> io::Result<()> {
    let mut paper = Paper::new(format);
    while let Some(item) = items.blocking_recv() {
        match item {
            Item::Event(event) => paper.event(&event)?,
            Item::Live(piece) => paper.live(&piece)?,
            Item::Farewell(stats, hint) => paper.farewell(&stats, &hint)?,
        }
    }
    Ok(())
}

struct Paper {
    pen: Pen,
    spinner: Option<ProgressBar>,
    /// Replies of the model so far.
    steps: u64,
}

enum Pen {
    Human(Box<Printer<anstream::AutoStream<Stdout>>>),
    Json(Stdout),
}

impl Paper {
    fn new(format: Format) -> Self {
        let pen = match format {
            Format::Human => Pen::Human(Box::new(Printer::new(anstream::stdout(), Style::coloured()))),
            Format::Json => Pen::Json(io::stdout()),
        };
        let spinner = (format == Format::Human && io::stderr().is_terminal()).then(|| {
            let spinner = ProgressBar::new_spinner();
            spinner.enable_steady_tick(Duration::from_millis(100));
            spinner
        });
        Self {
            pen,
            spinner,
            steps: 0,
        }
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        if matches!(&event.body, EventBody::StateUpdate(update) if update.key == "stats") {
            self.steps += 1;
        }
        match (&mut self.pen, &self.spinner) {
            (Pen::Json(out), _) => writeln!(out, "{}", json_line(event)?)?,
            (Pen::Human(printer), Some(spinner)) => spinner.suspend(|| printer.print(event))?,
            (Pen::Human(printer), None) => printer.print(event)?,
        }
        if let (Some(spinner), EventBody::Action(action)) = (&self.spinner, &event.body) {
            spinner.set_message(one_line(action.summary.as_deref().unwrap_or(&action.tool_name)));
        }
        Ok(())
    }

    fn live(&self, piece: &Live) -> io::Result<()> {
        match (piece, &self.pen) {
            (
                Live::Retry {
                    attempt,
                    wait,
                    reason,
                    ..
                },
                Pen::Human(_),
            ) => {
                let line = format!("{reason}. Attempt {attempt} follows in {} s.", wait.as_secs());
                self.note(&one_line(&line))?;
            }
            (Live::Preparing { line }, _) => self.note(&format!("workspace: {}", one_line(line)))?,
            _ => {}
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
            Live::CallDelta { tool, .. } => {
                if let Some(tool) = tool {
                    spinner.set_message(format!("preparing {}", one_line(tool)));
                }
            }
            Live::Retry { .. } => spinner.set_message("waiting"),
            Live::ReplyAborted { .. } => spinner.set_message("stopped"),
            Live::Preparing { .. } => spinner.set_message("making the workspace ready"),
            Live::Prepared => spinner.set_message("the workspace is ready"),
        }
        Ok(())
    }

    /// A line about what is going on, which is no event.
    fn note(&self, line: &str) -> io::Result<()> {
        let print = || writeln!(anstream::stderr(), "{line}");
        match &self.spinner {
            Some(spinner) => spinner.suspend(print),
            None => print(),
        }
    }

    fn farewell(&mut self, stats: &Stats, hint: &str) -> io::Result<()> {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
        writeln!(anstream::stdout(), "{}\n{hint}", spent_line(self.steps, stats))
    }
}
