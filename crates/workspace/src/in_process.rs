//! An executor in the same process: for programs that embed the engine.

use std::sync::{Mutex, PoisonError};

use deft_executor::Executor;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::task::JoinSet;

use crate::{Stream, Workspace, WorkspaceError};

/// Bytes on their way between the engine and the executor.
const BUFFER: usize = 64 * 1024;

/// Tools run as the program itself, without a sandbox, and end with it. A conversation that ends its executor ends this one
/// for all: then make another.
pub struct InProcessWorkspace {
    executor: Executor,
    connections: Mutex<JoinSet<()>>,
}

impl InProcessWorkspace {
    /// The workspace of this executor.
    pub fn new(executor: Executor) -> Self {
        Self {
            executor,
            connections: Mutex::default(),
        }
    }
}

impl Workspace for InProcessWorkspace {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        async {
            let (near, far) = tokio::io::duplex(BUFFER);
            let executor = self.executor.clone();
            let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
            while connections.try_join_next().is_some() {} // those that have ended
            connections.spawn(async move {
                let closed = async {
                    executor.shutdown_requested().await;
                    executor.close().await;
                };
                tokio::select! {
                    () = executor.serve(far) => {}
                    () = closed => {}
                }
            });
            Ok(Box::new(near) as Box<dyn Stream>)
        }
        .boxed()
    }

    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        self.open().map(Result::ok).boxed()
    }
}
