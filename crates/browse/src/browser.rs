//! The `browser_*` tools: one Chromium for a workspace, started with the first call and spoken to over a pipe.
//!
//! `find` and `launch` start it, `connection` speaks its protocol, `tabs` is what we know of it by its events, `filming` shows it to people. `session`
//! lasts from call to call, `running` is one Chromium, and `actions` says where what an action asks for is done. The page is never trusted: `page.js` looks at it from a world of its own, with limits, and
//! what it says is fenced off.

mod actions;
mod answer;
mod connection;
mod downloads;
mod filming;
mod find;
mod input;
mod launch;
mod navigate;
mod problem;
mod recording;
mod running;
mod session;
mod specs;
mod storage;
mod tabs;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deft_tools::{Call, LiveView, Tool, ToolContext, ToolError, Touches};
use deft_types::{Action, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use self::answer::Answer;
use self::problem::Problem;
use self::session::Session;
use self::specs::{SPECS, ToolText};
use crate::gate::Addresses;

/// How long a page may take for one thing, unless the options say otherwise.
const ACTION_LIMIT: Duration = Duration::from_secs(30);

/// How the browser behaves.
#[derive(Clone, Debug)]
pub struct BrowserOptions {
    /// The Chromium to run; without one it is looked for.
    pub program: Option<PathBuf>,
    /// What pages may connect to. By default this machine too, because that is where the program that is being
    /// written listens.
    pub addresses: Addresses,
    /// The proxy through which other machines are reached, where that is the only way.
    pub way_out: Option<SocketAddr>,
    /// How long a page may take to load, and to do one thing.
    pub action_limit: Duration,
    /// Where people who watch see it.
    pub live_view: LiveView,
}

impl Default for BrowserOptions {
    fn default() -> Self {
        Self {
            program: None,
            addresses: Addresses::PublicAndLoopback,
            way_out: None,
            action_limit: ACTION_LIMIT,
            live_view: LiveView::default(),
        }
    }
}

/// The tools of one browser, always in the same order.
pub fn browser_tools(context: ToolContext, options: BrowserOptions) -> Vec<Arc<dyn Tool>> {
    let browser = Arc::new(Browser {
        session: Mutex::new(Session::new(context, options)),
        closing: CancellationToken::new(),
    });
    let tool = |text| -> Arc<dyn Tool> {
        Arc::new(BrowserTool {
            text,
            browser: browser.clone(),
        })
    };
    SPECS.iter().map(tool).collect()
}

/// What all the tools share.
struct Browser {
    /// Held for the whole of a call: that is what makes the next one wait.
    session: Mutex<Session>,
    closing: CancellationToken,
}

impl Browser {
    async fn handle(&self, call: Call) -> Result<Observation, ToolError> {
        let mut session = tokio::select! {
            biased;
            () = self.closing.cancelled() => return Err(ToolError::Closed),
            () = call.cancel.cancelled() => return Err(ToolError::Cancelled),
            session = self.session.lock() => session,
        };
        let answer = tokio::select! {
            biased;
            () = self.closing.cancelled() => return Err(ToolError::ClosedWhileRunning),
            () = call.cancel.cancelled() => Answer::from(Problem::Cancelled),
            answer = session.handle(&call.action) => answer,
        };
        Ok(answer.into_observation(session.take_notes()).into())
    }
}

/// One of the tools.
struct BrowserTool {
    text: &'static ToolText,
    browser: Arc<Browser>,
}

impl Tool for BrowserTool {
    fn spec(&self) -> ToolSpec {
        self.text.spec()
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Only("browser".to_owned())
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            if call.action.kind() != self.text.action_kind() {
                return Err(ToolError::WrongAction {
                    tool: self.text.name,
                    kind: call.action.kind().to_owned(),
                });
            }
            self.browser.handle(call).await
        }
        .boxed()
    }

    /// Ends the running call and Chromium, and removes its profile. The first of the tools to be closed does it.
    fn close(&self) -> BoxFuture<'_, ()> {
        async move {
            self.browser.closing.cancel();
            self.browser.session.lock().await.close().await;
        }
        .boxed()
    }
}
