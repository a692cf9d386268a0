//! Tool calls that are under way together.

use std::sync::Arc;

use deft_executor::{Client, Outcome as CallOutcome, Update};
use deft_tools::{Call, OutputSink, Tool, Turns};
use deft_types::ActionId;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, FuturesUnordered};
use futures::{FutureExt, StreamExt};
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::work::Outcome;
use crate::live::{Broadcast, Live};
use crate::state::OpenCall;
use crate::trace;
use crate::world::{Point, World};

/// How an executor is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Run it.
    Call,
    /// It may be running: join it, but do not start it.
    Collect,
}

/// Calls of one reply that run at the same time, as far as what they touch allows. Their outcomes come in the order
/// of the calls.
pub(crate) struct Calls {
    ids: Vec<ActionId>,
    place: Place,
    /// As they come, each with the number of its call.
    outcomes: BoxStream<'static, (usize, Outcome)>,
    /// Those whose turn has not come.
    early: BTreeMap<usize, Outcome>,
    /// The call whose turn it is.
    turn: usize,
}

/// Where they run.
enum Place {
    Executor(Client),
    Here(CancellationToken),
}

impl Calls {
    /// Calls that an executor runs.
    pub(crate) fn executor(
        client: Client,
        calls: Vec<(Ask, Span, OpenCall)>,
        live: Broadcast,
        world: Arc<dyn World>,
    ) -> Self {
        let ids = calls.iter().map(|(_, _, call)| call.id.clone()).collect();
        let asked = client.clone();
        let outcomes = async move {
            let followed = FuturesUnordered::new();
            for (number, (ask, span, call)) in calls.into_iter().enumerate() {
                let sent = send(&asked, ask, call, live.clone(), world.clone()).await;
                followed.push(traced(number, span, sent));
            }
            followed
        };
        Self {
            ids,
            place: Place::Executor(client),
            outcomes: outcomes.flatten_stream().boxed(),
            early: BTreeMap::new(),
            turn: 0,
        }
    }

    /// Calls of tools that run beside the engine.
    pub(crate) fn here(
        calls: Vec<(Arc<dyn Tool>, Span, OpenCall)>,
        live: &Broadcast,
        world: &Arc<dyn World>,
    ) -> Self {
        let ids = calls.iter().map(|(_, _, call)| call.id.clone()).collect();
        let cancel = CancellationToken::new();
        let turns = Turns::default();
        let running: FuturesUnordered<_> = calls
            .into_iter()
            .enumerate()
            .map(|(number, (tool, span, call))| {
                let run = run_here(tool, call, &turns, cancel.clone(), live.clone(), world.clone());
                traced(number, span, run)
            })
            .collect();
        Self {
            ids,
            place: Place::Here(cancel),
            outcomes: running.boxed(),
            early: BTreeMap::new(),
            turn: 0,
        }
    }

    /// The next call that ended, in the order of the calls.
    pub(crate) async fn next(&mut self) -> Option<Outcome> {
        loop {
            if let Some(outcome) = self.early.remove(&self.turn) {
                self.turn += 1;
                return Some(outcome);
            }
            let (number, outcome) = self.outcomes.next().await?;
            self.early.insert(number, outcome);
        }
    }

    /// Those that have ended although one before them has not.
    pub(crate) fn ended_early(self) -> impl Iterator<Item = Outcome> {
        self.early.into_values()
    }

    /// Whether they run in this process, as tasks do.
    pub(crate) fn are_here(&self) -> bool {
        matches!(self.place, Place::Here(_))
    }

    /// Tells all of them to stop. They still answer.
    pub(crate) async fn cancel(&mut self) {
        match &self.place {
            Place::Executor(client) => {
                for id in &self.ids {
                    client.cancel(id.clone()).await;
                }
            }
            Place::Here(cancel) => cancel.cancel(),
        }
    }
}

/// Lets a call's span see its end. What the call itself begins is within the span.
async fn traced(number: usize, span: Span, call: BoxFuture<'static, Outcome>) -> (usize, Outcome) {
    let outcome = call.instrument(span.clone()).await;
    if let Outcome::Tool { update, .. } = &outcome {
        trace::ended(&span, update);
    }
    (number, outcome)
}

/// Sends a call; what is given back waits for its end.
async fn send(
    client: &Client,
    ask: Ask,
    call: OpenCall,
    live: Broadcast,
    world: Arc<dyn World>,
) -> BoxFuture<'static, Outcome> {
    world.reached(Point::BeforeToolCall);
    let id = call.id.clone();
    let mut running = match (ask, &call.event.action) {
        (Ask::Call, Some(action)) => {
            client
                .call(id.clone(), call.event.tool_name.clone(), action.clone())
                .await
        }
        (Ask::Collect, _) | (_, None) => client.collect(id.clone()).await,
    };
    world.reached(Point::AfterToolCallSent);
    async move {
        let mut first = true;
        let update = loop {
            match running.next().await {
                Update::Output(chunk) => {
                    if std::mem::take(&mut first) {
                        world.reached(Point::FirstOutput);
                    }
                    live.show(Live::Output {
                        action: id.clone(),
                        chunk,
                    });
                }
                end @ (Update::Ended(_) | Update::Unknown | Update::Lost) => break end,
            }
        };
        world.reached(Point::AfterToolResult);
        Outcome::Tool { call, update }
    }
    .boxed()
}

/// Takes the call's turn now, and runs it when that has come.
fn run_here(
    tool: Arc<dyn Tool>,
    call: OpenCall,
    turns: &Turns,
    cancel: CancellationToken,
    live: Broadcast,
    world: Arc<dyn World>,
) -> BoxFuture<'static, Outcome> {
    let Some(action) = call.event.action.clone() else {
        return std::future::ready(Outcome::Tool {
            call,
            update: Update::Unknown,
        })
        .boxed();
    };
    let turn = turns.queue(tool.touches(&action));
    let (output, mut chunks) = OutputSink::channel();
    async move {
        world.reached(Point::BeforeToolCall);
        let show = async {
            while let Some(chunk) = chunks.recv().await {
                live.show(Live::Output {
                    action: call.id.clone(),
                    chunk: String::from_utf8_lossy(&chunk).into_owned(),
                });
            }
        };
        let run = turn.run(
            tool.as_ref(),
            Call {
                id: call.id.clone(),
                action,
                output,
                cancel,
            },
        );
        let (ended, ()) = tokio::join!(run, show);
        world.reached(Point::AfterToolResult);
        let ended = match ended {
            Ok(observation) => CallOutcome::Observed {
                observation: Box::new(observation),
            },
            Err(error) => CallOutcome::Failed {
                message: error.to_string(),
            },
        };
        Outcome::Tool {
            call,
            update: Update::Ended(ended),
        }
    }
    .boxed()
}
