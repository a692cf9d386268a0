//! A workspace whose executor speaks the real frames, does no work, and dies or falls silent at times. It holds each
//! call to what must be true before it runs.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use deft_executor::frame::{self, Reply, Request};
use deft_executor::{CheckpointReply, CheckpointRequest, Outcome};
use deft_tools::{CheckpointId, Restored};
use deft_types::{ActionId, ConversationId, Status, ToolSpec};
use deft_workspace::{Stream, Workspace, WorkspaceError};
use futures::future::BoxFuture;
use futures::{FutureExt, SinkExt, StreamExt};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

use super::log::{HookSaid, Logs};
use super::machine::{Machine, forward, tell};
use super::model::Asked;
use super::scene::{Life, Scene};
use super::work::perform;

/// Where the files of a conversation would be.
pub(crate) struct Place {
    scene: Arc<Scene>,
    logs: Arc<Logs>,
    pub(crate) conversation: ConversationId,
    /// What models were asked about it.
    pub(crate) asked: Arc<Mutex<Asked>>,
    tools: Vec<ToolSpec>,
    machine: Mutex<Option<Arc<Machine>>>,
}

/// The place as one process reaches it.
pub(crate) struct Door {
    pub(crate) place: Arc<Place>,
    pub(crate) life: Arc<Life>,
}

impl Place {
    pub(crate) fn new(
        scene: Arc<Scene>,
        logs: Arc<Logs>,
        conversation: ConversationId,
        tools: Vec<ToolSpec>,
    ) -> Self {
        Self {
            scene,
            logs,
            conversation,
            asked: Arc::default(),
            tools,
            machine: Mutex::default(),
        }
    }

    /// The executor is gone, and all it knew with it.
    pub(crate) fn die(&self) {
        if let Some(machine) = self.machine.lock().unwrap().take() {
            machine.dead.cancel();
        }
    }

    /// All connections to the executor break; it lives on.
    pub(crate) fn cut(&self) {
        if let Some(machine) = self.machine.lock().unwrap().as_ref() {
            let cut = std::mem::take(&mut *machine.cut.lock().unwrap());
            cut.cancel();
        }
    }

    fn machine(&self) -> Arc<Machine> {
        let mut machine = self.machine.lock().unwrap();
        let start = || Arc::new(Machine::new(self.scene.dice.uuid(), self.tools.clone()));
        machine.get_or_insert_with(start).clone()
    }

    /// What somebody has done again or undone happens while the agent does nothing.
    fn check_idle(&self, life: &Life, what: &str) {
        let runs = |log: &super::log::Log| log.status == Status::Running && log.is_written_by(life);
        let runs = self.logs.look(self.conversation, runs).unwrap_or(false);
        self.scene
            .demand(!runs, || format!("{what} while the agent runs"));
    }

    /// Invariants 2 and 3, and that nothing runs that a person has not allowed.
    fn check_call(&self, life: &Life, id: &ActionId) {
        if is_rerun(id) {
            return self.check_idle(life, "a call is made again");
        }
        let look = |log: &super::log::Log| {
            (
                log.has_action(id),
                log.has_result(id),
                log.status == Status::WaitingForConfirmation,
                log.is_written_by(life),
                log.hooks_said(id),
            )
        };
        let Ok((known, answered, waits, is_writer, said)) = self.logs.look(self.conversation, look) else {
            return;
        };
        self.scene.demand(known, || {
            format!("invariant 2: {id} is called before it is committed")
        });
        // A writer that was replaced cannot know what happened since.
        self.scene.demand(!answered || !is_writer, || {
            format!("invariant 3: {id} is called although it has a result")
        });
        self.scene.demand(!waits || !is_writer, || {
            format!("{id} is called while it waits for a word")
        });
        let hooked = self.scene.hooked.load(Ordering::Relaxed);
        self.scene.demand(!hooked || said == Some(HookSaid::Nothing), || {
            format!("{id} is called, of which hooks have said {said:?}")
        });
    }

    fn check_acknowledgement(&self, id: &ActionId) {
        if is_rerun(id) {
            return; // it has no result in the log
        }
        let stored = self.logs.look(self.conversation, |log| log.has_result(id));
        self.scene.demand(stored.unwrap_or(true), || {
            format!("invariant 3: the result of {id} may be forgotten before it is stored")
        });
    }

    /// Serves one connection until something ends it.
    async fn serve(self: Arc<Self>, machine: Arc<Machine>, life: Arc<Life>, stream: DuplexStream) {
        let cut = machine.cut.lock().unwrap().clone();
        let (read, write) = tokio::io::split(stream);
        let mut requests = frame::reader::<Request>(read);
        let mut writer = frame::writer::<Reply>(write);
        if self.scene.fault(40) {
            tokio::time::sleep(Duration::from_secs(20)).await; // silent for too long
        }
        if writer
            .send(Reply::Hello(Box::new(machine.hello.clone())))
            .await
            .is_err()
        {
            return;
        }
        let (replies, mut queue) = mpsc::channel(256);
        let mut open = HashSet::new();
        loop {
            let request = tokio::select! {
                biased;
                () = machine.dead.cancelled() => return,
                () = cut.cancelled() => return,
                () = life.dead.cancelled() => return,
                Some(reply) = queue.recv() => {
                    if let Reply::Result { id, .. } | Reply::Unknown { id } = &reply {
                        open.remove(id);
                    }
                    if writer.send(reply).await.is_err() {
                        return;
                    }
                    continue;
                }
                request = requests.next() => request,
            };
            let Some(Ok(request)) = request else { return };
            match &request {
                Request::Call { id, .. } | Request::Collect { id } => {
                    open.insert(id.clone());
                    let most = life.limits.lock().unwrap().parallel_calls;
                    self.scene.demand(open.len() <= most, || {
                        format!("invariant 8: {} calls at once, {most} are allowed", open.len())
                    });
                }
                Request::Cancel { id } | Request::Ack { id } => drop(open.remove(id)),
                _ => {}
            }
            self.handle(&machine, &life, request, &replies);
            if self.scene.fault(40) {
                self.scene.tell("the connection to the executor breaks");
                return;
            }
            if self.scene.fault(60) {
                self.scene.tell("the executor dies");
                self.die();
            }
        }
    }

    fn handle(&self, machine: &Arc<Machine>, life: &Life, request: Request, replies: &mpsc::Sender<Reply>) {
        match request {
            Request::Call { id, tool, .. } => {
                self.check_call(life, &id);
                if machine.acknowledged.lock().unwrap().contains(&id) {
                    let message = "this was done before".to_owned();
                    let outcome = Outcome::Failed { message };
                    tell(replies, Reply::Result { id, outcome });
                    return;
                }
                let known = machine.calls.lock().unwrap().get(&id).cloned();
                let call = known.unwrap_or_else(|| machine.start(&self.scene, &id, &tool));
                tokio::spawn(forward(id, call, replies.clone()));
            }
            Request::Collect { id } => {
                let known = machine.calls.lock().unwrap().get(&id).cloned();
                match known {
                    Some(call) => drop(tokio::spawn(forward(id, call, replies.clone()))),
                    None => tell(replies, Reply::Unknown { id }),
                }
            }
            Request::Ack { id } => {
                self.check_acknowledgement(&id);
                machine.calls.lock().unwrap().remove(&id);
                machine.acknowledged.lock().unwrap().insert(id);
            }
            Request::Cancel { id } => {
                if let Some(call) = machine.calls.lock().unwrap().get(&id) {
                    call.cancel.cancel();
                }
            }
            Request::Checkpoints { id, request } => {
                let reply = match request {
                    _ if self.scene.fault(5) => CheckpointReply::Failed {
                        message: "no room".to_owned(),
                    },
                    CheckpointRequest::Take { .. } => CheckpointReply::Taken { id: CheckpointId(1) },
                    CheckpointRequest::Restore { .. } => {
                        self.check_idle(life, "files are restored");
                        CheckpointReply::Restored(Restored {
                            undo: CheckpointId(2),
                            changes: Vec::new(),
                            failed: Vec::new(),
                        })
                    }
                    _ => CheckpointReply::Settled,
                };
                // Whoever restores waits for the end of it, however long it takes.
                if matches!(reply, CheckpointReply::Restored(_)) || !self.scene.fault(10) {
                    tell(replies, Reply::Checkpoints { id, reply });
                }
            }
            Request::Shutdown => self.die(),
            Request::Work { id, work } => perform(machine, &self.scene, id, work, replies),
            Request::Hello { .. }
            | Request::SetSecrets { .. }
            | Request::StartMcp { .. }
            | Request::Stream { .. }
            | Request::Data { .. } => {}
        }
    }
}

impl Workspace for Door {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        async {
            let scene = &self.place.scene;
            self.life.survive(scene.pass(Duration::from_millis(100))).await;
            if scene.fault(25) {
                return Err(WorkspaceError::Missing("/simulated".into()));
            }
            let (near, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(
                self.place
                    .clone()
                    .serve(self.place.machine(), self.life.clone(), far),
            );
            Ok(Box::new(near) as Box<dyn Stream>)
        }
        .boxed()
    }

    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        self.open().map(Result::ok).boxed()
    }
}

/// Whether somebody has a call made again, which is in no log by this id.
fn is_rerun(id: &ActionId) -> bool {
    id.0.starts_with("rerun-")
}
