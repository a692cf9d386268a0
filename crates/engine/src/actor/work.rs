//! The one piece of work that is under way.

use std::sync::Arc;

use deft_acp::{AgentError, Incoming, TurnEnd};
use deft_executor::{Client, ClientError, Update};
use deft_llm::{ModelError, OtherUse, Reply, Request, Spent};
use deft_tools::{CheckpointId, Mask, Restored};
use deft_types::{EventId, McpServerStatus, Seq};
use deft_workspace::{Workspace, WorkspaceError};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::calls::Calls;
use super::external::Turn;
use super::heard::Heard;
use super::look_up::LookedUp;
use super::restore::Restoring;
use super::seeking::{Seeking, flat};
use super::shown::Shown;
use super::tally::Tally;
use crate::command::{CommandError, Done};
use crate::condense;
use crate::conversation::Outfit;
use crate::critic::Criticism;
use crate::extensions::Found;
use crate::external::Running;
use crate::hook_run;
use crate::judge::Judge;
use crate::live::{Broadcast, Live};
use crate::rerun::Rerun;
use crate::risk::Verdict;
use crate::servers::{Reached, waited_for};
use crate::state::OpenCall;
use crate::trace;
use crate::world::{Point, World};

/// A model call, tool calls, or reaching the executor. Dropping it stops the first at once; tools must be told.
pub(crate) enum Work {
    Model {
        item: EventId,
        tally: Tally,
        heard: Heard,
        future: BoxFuture<'static, Outcome>,
    },
    Summary {
        tally: Tally,
        future: BoxFuture<'static, Outcome>,
    },
    Connect {
        future: BoxFuture<'static, Outcome>,
    },
    Record {
        future: BoxFuture<'static, Outcome>,
    },
    LookUp {
        future: BoxFuture<'static, Outcome>,
    },
    Reach {
        future: BoxFuture<'static, Outcome>,
    },
    /// Those beside it are to end their calls first, which may use up what is left.
    Await {
        future: BoxFuture<'static, Outcome>,
    },
    /// What people have added is sought.
    Seek(Seeking),
    /// Ends early and still answers when it is cancelled.
    Hooks {
        future: BoxFuture<'static, Outcome>,
        cancel: CancellationToken,
    },
    /// The same.
    Rerun {
        future: BoxFuture<'static, Outcome>,
        cancel: CancellationToken,
    },
    /// Stopped only while the workspace is still to be reached: files that are half restored help nobody.
    Restore {
        future: BoxFuture<'static, Outcome>,
        cancel: CancellationToken,
    },
    Review {
        future: BoxFuture<'static, Outcome>,
    },
    Calls(Calls),
    /// Starts the agent that is a program of its own.
    Begin {
        future: BoxFuture<'static, Outcome>,
    },
    /// A turn of such an agent.
    Turn(Box<Turn>),
}

/// What came of it.
pub(crate) enum Outcome {
    Replied {
        item: EventId,
        reply: Result<Box<Reply>, ModelError>,
        /// What it used, also where nothing came of it.
        spent: Spent,
        /// What a judge found of each of its calls, if one was asked.
        judged: Vec<Verdict>,
    },
    Summarised {
        draft: condense::Draft,
        reply: Result<Box<Reply>, ModelError>,
        tally: Tally,
    },
    /// With how its MCP servers are doing, if it was to start some and could.
    Connected(Result<(Client, Option<Vec<McpServerStatus>>), ConnectError>),
    /// A call of an agent beside this one has ended, or begun.
    OthersEnded,
    /// What people have added.
    Found(Result<Found, String>),
    /// What was done in the workspace was done again, for whoever asked.
    Reran {
        rerun: Result<Rerun, CommandError>,
        request: Option<(EventId, &'static str)>,
        done: Done<Rerun>,
    },
    /// The files are what they were, or could not be made so.
    Restored(Result<Restored, CommandError>, Restoring),
    /// Secrets were asked for.
    LookedUp(Vec<LookedUp>),
    /// The MCP servers elsewhere were reached, or have failed; and what they will tell.
    Reached(Reached, BoxStream<'static, Reached>),
    /// The workspace was recorded before a turn changes it, or after, or could not be.
    Recorded(Option<CheckpointId>),
    /// Hooks have run.
    Hooked(Vec<hook_run::Verdict>),
    /// The result of a turn that ended behind an event was criticised, or could not be.
    Reviewed {
        behind: Option<EventId>,
        criticism: Result<Criticism, String>,
        used: Vec<OtherUse>,
    },
    Tool {
        call: OpenCall,
        update: Update,
    },
    /// The agent that is a program of its own was started, or why it could not be.
    Begun(Result<Box<Running>, String>),
    /// What such an agent tells during its turn.
    Told(Incoming),
    /// How its turn has ended.
    TurnEnded(Result<TurnEnd, AgentError>),
}

/// Why the executor cannot be reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Reaches the executor of a workspace.
pub(crate) async fn connected(workspace: &dyn Workspace) -> Result<Client, ConnectError> {
    match Client::connect(workspace.open().await?).await {
        // One that was just about to end itself; the next one will not.
        Err(ClientError::Io(_)) => Ok(Client::connect(workspace.open().await?).await?),
        connected => Ok(connected?),
    }
}

/// Gives an executor what it needs before its first call. Servers that fail are told, and keep nobody from working.
async fn fit_out(client: &Client, outfit: Outfit, live: &Broadcast) -> Option<Vec<McpServerStatus>> {
    client.set_secrets(outfit.secrets.values).await;
    let servers = outfit.servers?;
    let start = client.start_mcp(servers.config, servers.approvals);
    let waiting = client
        .mcp_changes()
        .filter_map(async |servers| waited_for(&servers));
    live.show_lines(waiting, start)
        .await
        .inspect_err(|error| tracing::warn!(%error, "MCP servers could not be started"))
        .ok()
}

impl Work {
    /// Waits for what comes of it; nothing more comes of calls that have all ended.
    pub(crate) async fn next(&mut self) -> Option<Outcome> {
        match self {
            Self::Model { future, .. }
            | Self::Summary { future, .. }
            | Self::Connect { future }
            | Self::Record { future }
            | Self::Reach { future }
            | Self::Await { future }
            | Self::LookUp { future }
            | Self::Rerun { future, .. }
            | Self::Restore { future, .. }
            | Self::Hooks { future, .. }
            | Self::Begin { future }
            | Self::Review { future } => Some(future.await),
            Self::Seek(seeking) => Some(Outcome::Found(flat(seeking.await))),
            Self::Turn(turn) => Some(turn.next().await),
            Self::Calls(calls) => calls.next().await,
        }
    }

    pub(crate) fn connect(
        workspace: Arc<dyn Workspace>,
        outfit: Outfit,
        live: Broadcast,
        world: Arc<dyn World>,
    ) -> Self {
        let connect = async move {
            let place = workspace.as_ref();
            let client = live.show_preparation(place, connected(place)).await?;
            let servers = fit_out(&client, outfit, &live).await;
            world.reached(Point::ExecutorConnected);
            Ok((client, servers))
        };
        Self::Connect {
            future: connect.map(Outcome::Connected).boxed(),
        }
    }

    pub(crate) fn model(
        tally: Tally,
        span: Span,
        request: Request,
        (item, log_end): (EventId, Option<Seq>),
        judge: Option<Judge>,
        (live, mask): (Broadcast, Arc<Mask>),
        world: Arc<dyn World>,
    ) -> Self {
        let (begun, told) = (item.clone(), tally.clone());
        let heard = Heard::default();
        let listener = heard.clone();
        let future = async move {
            world.reached(Point::BeforeModelCall);
            live.show(Live::ReplyStarted {
                item: item.clone(),
                log_end,
            });
            let mut first = true;
            let mut shown = Shown::new(item.clone(), live.clone(), mask);
            let reply = deft_llm::complete(tally.model.as_ref(), request, |delta| {
                if std::mem::take(&mut first) {
                    world.reached(Point::FirstDelta);
                }
                tally.see(delta);
                listener.hear(delta);
                shown.see(delta);
            })
            .await;
            world.reached(Point::AfterModelCall);
            trace::replied(&span, reply.as_ref());
            drop(span);
            let (judged, used) = match (judge, &reply) {
                (Some(judge), Ok(reply)) if !reply.tool_calls.is_empty() => judge.judge(reply).await,
                _ => (Vec::new(), Vec::new()),
            };
            let mut spent = tally.spent();
            spent.others.extend(used);
            if reply.is_err() {
                live.show(Live::ReplyAborted { item: item.clone() });
            }
            Outcome::Replied {
                item,
                reply: reply.map(Box::new),
                spent,
                judged,
            }
        };
        Self::Model {
            item: begun,
            tally: told,
            heard,
            future: future.boxed(),
        }
    }
}
