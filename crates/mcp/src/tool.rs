//! A server's tool as one of ours.

use std::sync::Arc;

use deft_tools::{Call, Tool, ToolError, Touches};
use deft_types::{Action, MCPToolObservation, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use tokio::time::timeout;

use crate::limits::CANCEL_GRACE;
use crate::link::{Line, is_gone};
use crate::listing::Listed;
use crate::result::observed;
use crate::server::Server;

/// Why a tool is not run that is another one by now.
const WITHHELD: &str = "has changed this tool since it was approved, or has it no more. Nothing was run: a person must \
                        approve it again.";

/// A server's tool under a name of ours.
pub(crate) struct McpTool {
    pub(crate) name: String,
    pub(crate) listed: Listed,
    pub(crate) server: Arc<Server>,
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.listed.spec(&self.name)
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Only(format!("mcp:{}", self.server.config.name))
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::MCPTool(action) = &call.action else {
                return Err(ToolError::WrongAction {
                    tool: "of an MCP server",
                    kind: call.action.kind().to_owned(),
                });
            };
            let arguments = action.data.clone().into_iter().collect();
            let limit = self.server.limits.call;
            let line = tokio::select! {
                line = timeout(limit, self.server.line()) => line.unwrap_or_else(|_| Err("it does not start".to_owned())),
                () = call.cancel.cancelled() => return Err(ToolError::Cancelled),
            };
            let observation = match line {
                Ok(line) => self.call(arguments, &call, &line).await,
                Err(reason) => self.failed(&format!(
                    "is not there: {reason} Nothing was run. Go on without it, or try again later."
                )),
            };
            Ok(observation.into())
        }
        .boxed()
    }
}

impl McpTool {
    async fn call(&self, arguments: JsonObject, call: &Call, line: &Line) -> MCPToolObservation {
        if !self.server.has(&self.listed.name, &self.listed.digest) {
            return self.failed(WITHHELD);
        }
        let params = CallToolRequestParams::new(self.listed.name.clone()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let mut handle = match line.peer.send_cancellable_request(request, options).await {
            Ok(handle) => handle,
            Err(error) => return self.refused(&error, line),
        };
        let watching = line
            .progress
            .watch(handle.progress_token.clone(), call.output.clone());
        let (reason, what) = tokio::select! {
            answer = &mut handle.rx => {
                return match answer.unwrap_or(Err(ServiceError::TransportClosed)) {
                    Ok(ServerResult::CallToolResult(result)) => {
                        observed(&self.name, result, &self.server.outputs).await
                    }
                    Ok(_) => self.failed("answered with something that is no result of a tool."),
                    Err(error) => self.refused(&error, line),
                };
            }
            () = call.cancel.cancelled() => ("the call was cancelled", String::new()),
            () = tokio::time::sleep(self.server.limits.call) => {
                let seconds = self.server.limits.call.as_secs_f32();
                ("the call took too long", format!("did not answer within {seconds} seconds and "))
            }
        };
        drop(watching);
        give_up(handle, reason).await;
        self.failed(&format!(
            "{what}was told to stop; it may have done a part of its work: look before you repeat it."
        ))
    }

    fn refused(&self, error: &ServiceError, line: &Line) -> MCPToolObservation {
        match error {
            ServiceError::McpError(error) => self.failed(&format!("refused the call: {}", error.message)),
            error if is_gone(error) => {
                line.mark_broken();
                self.failed(
                    "ended in the middle of the call, which may have done a part of its work: look before you repeat it. \
                     The server is started again by the next call.",
                )
            }
            error => self.failed(&format!("could not be called: {error}")),
        }
    }

    fn failed(&self, what: &str) -> MCPToolObservation {
        self.server.failed(&self.name, what)
    }
}

/// A tool that a server had, or has made another one of.
pub(crate) struct Withheld {
    pub(crate) name: String,
    pub(crate) server: Arc<Server>,
}

impl Tool for Withheld {
    fn spec(&self) -> ToolSpec {
        let nothing = rmcp::model::Tool::new(
            self.name.clone(),
            "It is not offered any more.",
            JsonObject::new(),
        );
        Listed::new(nothing).spec(&self.name)
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, _: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        let refused = self.server.failed(&self.name, WITHHELD);
        std::future::ready(Ok(refused.into())).boxed()
    }
}

/// Tells the server that nobody waits any more. One that does not listen must not keep us.
async fn give_up(handle: RequestHandle<RoleClient>, reason: &str) {
    let _ = timeout(CANCEL_GRACE, handle.cancel(Some(reason.to_owned()))).await;
}
