//! Folds the log beside the engine, event by event, and compares.

use std::sync::Arc;

use deft_engine::{State, load};
use deft_types::{ConversationId, Event, EventBody, Status};
use serde_json::Value;

use super::log::Logs;
use super::scene::{Life, Scene};
use super::store::SimulatedStore;
use crate::desk::Desk;

/// See the module.
pub(crate) struct Follower {
    scene: Arc<Scene>,
    logs: Arc<Logs>,
    conversation: ConversationId,
    seen: usize,
    state: State,
}

impl Follower {
    pub(crate) fn new(scene: Arc<Scene>, logs: Arc<Logs>, conversation: ConversationId) -> Self {
        Self {
            scene,
            logs,
            conversation,
            seen: 0,
            state: State::default(),
        }
    }

    /// Takes in what was committed since, and holds it to what each log must be.
    pub(crate) async fn catch_up(&mut self) -> &State {
        let new = self
            .logs
            .look(self.conversation, |log| log.events[self.seen..].to_vec());
        for event in new.unwrap() {
            self.seen += 1;
            if moves(&event) {
                self.state = rebuilt(&self.logs, self.conversation, self.seen).await;
                continue;
            }
            let open = self.state.open_calls();
            self.state.apply(&event);
            let closed = open.saturating_sub(self.state.open_calls());
            self.scene.demand(closed == usize::from(is_result(&event)), || {
                format!("invariant 3: this closes {closed} calls of {open}: {event:?}")
            });
            self.scene
                .demand(event.parent_id.as_ref() != Some(&event.id), || {
                    format!("an event follows itself: {event:?}")
                });
        }
        let finished = self.state.status == Status::Finished;
        self.scene.demand(!finished || self.state.open_calls() == 0, || {
            "invariant 3: it is finished, and a call has no result".to_owned()
        });
        &self.state
    }

    /// Invariant 1: what the engine holds is what the log says. Otherwise how they differ.
    pub(crate) async fn compare(&mut self, live: &State) -> Result<(), String> {
        let folded = self.catch_up().await;
        if live == folded {
            return Ok(());
        }
        let difference = difference(live, folded);
        Err(format!(
            "invariant 1: the live state is not the log's: {difference}"
        ))
    }
}

fn moves(event: &Event) -> bool {
    matches!(&event.body, EventBody::StateUpdate(update) if update.key == "leaf_event_id")
}

fn is_result(event: &Event) -> bool {
    let body = &event.body;
    matches!(
        body,
        EventBody::Observation(_) | EventBody::AgentError(_) | EventBody::UserReject(_)
    )
}

/// What the engine would load if the first events of a log were all of it.
pub(crate) async fn rebuilt(logs: &Logs, id: ConversationId, events: usize) -> State {
    let events = logs.look(id, |log| log.events[..events].to_vec()).unwrap();
    let copy = Logs::default();
    copy.create(id, Value::Null).unwrap();
    let fencing = copy.acquire(id).unwrap();
    copy.append(id, fencing, events).unwrap();
    let scene = Scene::new(0);
    scene.calm_down();
    let store = SimulatedStore {
        scene: Arc::new(scene),
        logs: Arc::new(copy),
        life: Arc::new(Life::new(Desk::limits(), None)),
    };
    load(&store, id).await.unwrap()
}

/// The first lines in which two states differ.
fn difference(live: &State, folded: &State) -> String {
    let (live, folded) = (format!("{live:#?}"), format!("{folded:#?}"));
    let lines = live.lines().zip(folded.lines());
    let different = lines.filter(|(live, folded)| live != folded).take(6);
    different
        .map(|(live, folded)| format!("\n  live:   {live}\n  folded: {folded}"))
        .collect()
}
