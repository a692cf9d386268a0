//! MCP servers that are reached from beside the engine: they come late, change what they offer, fail, and come back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use deft_engine::{Reached, ServersElsewhere};
use deft_tools::{Call, Tool, ToolError, Touches};
use deft_types::{
    Action, Content, McpApprovals, McpPin, McpServerState, McpServerStatus, Observation, ThinkObservation,
    ToolSpec,
};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};

use super::ponder::served;
use super::scene::{Life, Scene};

/// How often one process hears of changes.
const CHANGES: usize = 8;

/// See the module.
pub(crate) struct SimulatedServers {
    pub(super) scene: Arc<Scene>,
    pub(super) life: Arc<Life>,
}

impl ServersElsewhere for SimulatedServers {
    fn reach(&self, _: Vec<String>, _: McpApprovals) -> BoxStream<'static, Reached> {
        let (scene, life) = (self.scene.clone(), self.life.clone());
        let told = stream::iter(0..CHANGES).then(move |time| {
            let (scene, life) = (scene.clone(), life.clone());
            async move {
                let most = if time == 0 { 500 } else { 20_000 };
                life.survive(scene.pass(Duration::from_millis(most))).await;
                offer(&scene)
            }
        });
        told.boxed()
    }
}

/// What there is now.
fn offer(scene: &Arc<Scene>) -> Reached {
    let names: &[&str] = match scene.dice.below(4) {
        0 => &[],
        1 => &["far"],
        _ => &["far", "farther"],
    };
    let failed = scene.fault(5);
    let names = if failed { &[] } else { names };
    let tools: Vec<Arc<dyn Tool>> = names
        .iter()
        .map(|name| -> Arc<dyn Tool> { Arc::new(Far(served(name), scene.clone())) })
        .collect();
    let state = if failed {
        let reason = "it has crashed".to_owned();
        McpServerState::Failed { reason }
    } else {
        let tools = tools.iter().map(|tool| tool.spec()).collect();
        McpServerState::Ready { tools }
    };
    scene.tell(format!("a server offers {names:?}"));
    let pin = McpPin {
        target: "far away".to_owned(),
        tools: BTreeMap::new(),
    };
    let status = McpServerStatus {
        name: "far".to_owned(),
        state,
        pin: (!failed).then_some(pin),
        approved: None,
        notes: Vec::new(),
    };
    Reached {
        tools,
        statuses: vec![status],
    }
}

/// A tool of a server, which may be gone or hang when it is called.
struct Far(ToolSpec, Arc<Scene>);

impl Tool for Far {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let scene = &self.1;
            scene.ran(&call.id, false);
            let most = if scene.fault(10) { 60_000 } else { 100 };
            tokio::select! {
                biased;
                () = call.cancel.cancelled() => return Err(ToolError::Cancelled),
                () = scene.pass(Duration::from_millis(most)) => {}
            }
            if scene.fault(6) {
                return Err(ToolError::Closed);
            }
            Ok(ThinkObservation {
                content: vec![Content::text("It is far.")],
                ..ThinkObservation::default()
            }
            .into())
        }
        .boxed()
    }
}
