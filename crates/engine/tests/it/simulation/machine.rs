//! One executor process of a simulation, and the calls it was asked for.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use deft_executor::frame::{PROTOCOL_VERSION, Reply};
use deft_executor::{Hello, Outcome};
use deft_types::{ActionId, Content, ThinkObservation, ToolSpec};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::scene::Scene;
use super::work::Command;

/// One executor process, and what it knows.
pub(super) struct Machine {
    pub(super) hello: Hello,
    pub(super) dead: CancellationToken,
    pub(super) cut: Mutex<CancellationToken>,
    pub(super) calls: Mutex<HashMap<ActionId, Call>>,
    pub(super) acknowledged: Mutex<HashSet<ActionId>>,
    /// Commands of hooks and skills.
    pub(super) commands: Mutex<HashMap<Uuid, Command>>,
}

#[derive(Clone)]
pub(super) struct Call {
    outcome: watch::Receiver<Option<Outcome>>,
    pub(super) cancel: CancellationToken,
}

impl Machine {
    pub(super) fn new(instance: Uuid, tools: Vec<ToolSpec>) -> Self {
        Self {
            hello: Hello {
                version: PROTOCOL_VERSION,
                instance,
                os: "simulated".to_owned(),
                arch: "simulated".to_owned(),
                workspace: "/simulated".to_owned(),
                tools,
            },
            dead: CancellationToken::new(),
            cut: Mutex::default(),
            calls: Mutex::default(),
            acknowledged: Mutex::default(),
            commands: Mutex::default(),
        }
    }

    /// Begins a call.
    pub(super) fn start(&self, scene: &Scene, id: &ActionId, tool: &str) -> Call {
        scene.ran(id, tool == "look");
        let dice = &scene.dice;
        let takes = Duration::from_millis(if scene.fault(20) { 60_000 } else { 30 });
        let takes = dice.moment(takes);
        let heeds_cancel = !scene.fault(4);
        let text = "x".repeat(dice.below(1_500));
        let ended = if scene.fault(10) {
            Outcome::Failed { message: text }
        } else {
            let observation = ThinkObservation {
                content: vec![Content::text(text)],
                ..ThinkObservation::default()
            };
            Outcome::Observed {
                observation: Box::new(observation.into()),
            }
        };
        let (sender, outcome) = watch::channel(None);
        let call = Call {
            outcome,
            cancel: CancellationToken::new(),
        };
        self.calls.lock().unwrap().insert(id.clone(), call.clone());
        let (cancel, dead) = (call.cancel.clone(), self.dead.clone());
        tokio::spawn(async move {
            let stopped = async {
                cancel.cancelled().await;
                if !heeds_cancel {
                    std::future::pending::<()>().await;
                }
            };
            let outcome = tokio::select! {
                biased;
                () = dead.cancelled() => return,
                () = stopped => Outcome::Failed { message: "stopped".to_owned() },
                () = tokio::time::sleep(takes) => ended,
            };
            sender.send_replace(Some(outcome));
        });
        call
    }
}

/// A connection that is so far behind is lost anyway.
pub(super) fn tell(replies: &mpsc::Sender<Reply>, reply: Reply) {
    let _ = replies.try_send(reply);
}

/// Tells a connection what comes of a call.
pub(super) async fn forward(id: ActionId, mut call: Call, replies: mpsc::Sender<Reply>) {
    let chunk = "working\n".to_owned();
    tell(
        &replies,
        Reply::Output {
            id: id.clone(),
            chunk,
        },
    );
    let outcome = call.outcome.wait_for(Option::is_some).await;
    let outcome = outcome.ok().and_then(|outcome| outcome.clone());
    if let Some(outcome) = outcome {
        tell(&replies, Reply::Result { id, outcome });
    }
}
