//! One connection to a server, from its start to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deft_tools::ToolContext;
use rmcp::model::PaginatedRequestParams;
use rmcp::service::{ClientInitializeError, Peer, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::config::{Endpoint, Remote, ServerConfig};
use crate::handler::{Handler, Progress};
use crate::http::{self, Network};
use crate::limits::{CLOSE_GRACE, MAX_MESSAGE, MAX_PAGES, MAX_TOOLS};
use crate::listing::Listed;
use crate::oauth::{TokenStore, authorized};
use crate::process::Process;
use crate::sse::SseTransport;

/// Where servers are started and what they are reached with.
#[derive(Clone)]
pub struct Place {
    /// The workspace: where programs run, with which environment, and where long answers are kept.
    pub tools: ToolContext,
    /// How servers elsewhere are reached.
    pub network: Network,
    /// Where their tokens are.
    pub tokens: Arc<dyn TokenStore>,
}

/// A connection whose two ends know each other.
pub(crate) struct Link {
    line: Line,
    running: RunningService<RoleClient, Handler>,
    process: Option<Process>,
}

/// What calls need of a connection. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) progress: Progress,
    broken: Arc<AtomicBool>,
}

impl Line {
    /// A call has seen that there is nobody at the other end.
    pub(crate) fn mark_broken(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.broken.load(Ordering::Relaxed) || self.peer.is_transport_closed()
    }
}

/// The tools of a server, and how many of them were left out.
pub(crate) struct List {
    pub(crate) tools: Vec<Listed>,
    pub(crate) left_out: usize,
}

impl Link {
    /// Starts the program or reaches the address, introduces us, and asks for the tools, all within the time limit.
    /// The error says what the server said.
    pub(crate) async fn open(
        config: &ServerConfig,
        place: &Place,
        limit: Duration,
        changed: mpsc::Sender<()>,
    ) -> Result<(Self, List), String> {
        let mut process = None;
        let opening = async {
            let link = Self::connect(config, place, changed, &mut process).await?;
            let list = link.list().await?;
            Ok((link, list))
        };
        let opened = match timeout(limit, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(format!("it was not ready after {} seconds", limit.as_secs_f32())),
        };
        match (opened, process) {
            (Ok((link, list)), process) => Ok((Self { process, ..link }, list)),
            (Err(reason), None) => Err(reason),
            (Err(reason), Some(mut process)) => Err(format!("{reason}.{}", process.obituary().await)),
        }
    }

    async fn connect(
        config: &ServerConfig,
        place: &Place,
        changed: mpsc::Sender<()>,
        process: &mut Option<Process>,
    ) -> Result<Self, String> {
        let progress = Progress::default();
        let workspace = config.is_local().then_some(place.tools.workspace.as_path());
        let handler = Handler::new(workspace, progress.clone(), changed);
        let running = match &config.endpoint {
            Endpoint::Stdio(program) => {
                let (started, stdout, stdin) = Process::start(program, &place.tools)?;
                *process = Some(started); // its last words are wanted whatever comes now
                let transport = AsyncRwTransport::new(stdout, stdin).with_max_line_length(MAX_MESSAGE);
                handler
                    .serve(transport)
                    .await
                    .map_err(|error| unwelcome(&error))?
            }
            Endpoint::Http(remote) => streamable(handler, remote, place).await?,
            Endpoint::Sse(remote) => {
                let (client, headers) = (http::client(&place.network, &remote.url)?, http::headers(remote)?);
                let transport = SseTransport::connect(client, &remote.url, headers).await;
                let transport = transport.map_err(|error| error.to_string())?;
                handler
                    .serve(transport)
                    .await
                    .map_err(|error| unwelcome(&error))?
            }
        };
        Ok(Self {
            line: Line {
                peer: running.peer().clone(),
                progress,
                broken: Arc::default(),
            },
            running,
            process: None,
        })
    }

    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    /// Asks for the tools, page by page, until there are enough.
    pub(crate) async fn list(&self) -> Result<List, String> {
        let mut list = List {
            tools: Vec::new(),
            left_out: 0,
        };
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.running.peer().list_tools(Some(params)).await;
            let page = page.map_err(|error| format!("it does not list its tools: {error}"))?;
            for tool in page.tools {
                // A second tool of a name could hide behind the approval of the first.
                if list.tools.iter().any(|known| known.name == tool.name) {
                    continue;
                }
                if list.tools.len() < MAX_TOOLS {
                    list.tools.push(Listed::new(tool));
                } else {
                    list.left_out += 1;
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(list)
    }

    /// Ends the connection, and the program if it is one.
    pub(crate) async fn close(mut self) {
        let _ = self.running.close_with_timeout(CLOSE_GRACE).await;
        if let Some(process) = self.process {
            process.close().await;
        }
    }
}

async fn streamable(
    handler: Handler,
    remote: &Remote,
    place: &Place,
) -> Result<RunningService<RoleClient, Handler>, String> {
    let client = http::client(&place.network, &remote.url)?;
    let config = StreamableHttpClientTransportConfig::with_uri(remote.url.as_str())
        .custom_headers(http::headers(remote)?)
        .max_sse_event_size(MAX_MESSAGE);
    let running = match &remote.oauth {
        None => {
            handler
                .serve(StreamableHttpClientTransport::with_client(client, config))
                .await
        }
        Some(oauth) => {
            let client = authorized(remote, oauth, client, place.tokens.clone()).await?;
            handler
                .serve(StreamableHttpClientTransport::with_client(client, config))
                .await
        }
    };
    running.map_err(|error| unwelcome(&error))
}

/// Why a server did not take us in.
fn unwelcome(error: &ClientInitializeError) -> String {
    match error {
        error if error.is_authorization_required() => {
            "it wants a login: add \"auth\": \"oauth\" to its configuration and log in, or give it a token in \
             `headers`"
                .to_owned()
        }
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection before it was ready".to_owned(),
        ClientInitializeError::TransportError { error, .. } => {
            format!("it cannot be reached: {}", deft_net::root_cause(error.error.as_ref()))
        }
        ClientInitializeError::JsonRpcError(error) => format!("it refused us: {}", error.message),
        other => format!("it does not speak MCP as expected: {other}"),
    }
}

/// Whether a call failed because there is nobody at the other end.
pub(crate) fn is_gone(error: &ServiceError) -> bool {
    matches!(
        error,
        ServiceError::TransportClosed | ServiceError::TransportSend(_)
    )
}
