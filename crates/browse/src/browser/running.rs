//! A browser that runs, and how it and its pages are asked for something.

use std::path::PathBuf;
use std::time::Duration;

use deft_tools::ToolContext;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::BrowserOptions;
use super::connection::{CallError, Connection};
use super::filming;
use super::find::find;
use super::launch::Process;
use super::problem::Problem;
use super::tabs::{MAX_TABS, Tab, Tabs};
use crate::gate::Gate;
use crate::proxy::Proxy;

/// How long Chromium may take to start, and the browser itself for something; pages may take longer.
const BROWSER_LIMIT: Duration = Duration::from_secs(30);

/// A browser that runs.
pub(super) struct Running {
    pub(super) connection: Connection,
    pub(super) tabs: watch::Sender<Tabs>,
    pub(super) process: Process,
    /// How long a page may take.
    pub(super) limit: Duration,
    /// Ends with it.
    _filming: JoinSet<()>,
}

impl Running {
    pub(super) async fn start(context: &ToolContext, options: &BrowserOptions) -> Result<Self, Problem> {
        let program: PathBuf = match &options.program {
            Some(program) if program.exists() => program.clone(),
            Some(_) => return Err(Problem::NoChromium),
            None => find(&context.env).ok_or(Problem::NoChromium)?,
        };
        let proxy = Proxy::start(Gate::new(options.addresses, options.way_out));
        let proxy = proxy.await.map_err(Problem::io("listen on this machine"))?;
        let (process, pipes) = Process::start(&program, context, proxy)?;
        let tabs = watch::Sender::new(Tabs::default());
        let told = tabs.clone();
        let pictures = watch::Sender::new(None);
        let filmed = pictures.subscribe();
        let connection = Connection::new(pipes.input, pipes.output, move |event, outbox| {
            if event.method == filming::PICTURE {
                pictures.send_replace(Some(filming::Frame::of(event)));
            } else {
                told.send_modify(|tabs| tabs.apply(&event, outbox));
            }
        });
        let mut filming = JoinSet::new();
        let (view, outbox) = (options.live_view.clone(), connection.outbox().clone());
        filming.spawn(filming::film(view, outbox, tabs.subscribe(), filmed));
        let running = Self {
            connection,
            tabs,
            process,
            limit: options.action_limit,
            _filming: filming,
        };
        match timeout(BROWSER_LIMIT, running.set_up()).await {
            Ok(Ok(())) => Ok(running),
            outcome => {
                let reason = match outcome {
                    Ok(Err(Problem::Gone)) => "it ended at once".to_owned(),
                    Ok(Err(problem)) => problem.to_string(),
                    Ok(Ok(())) | Err(_) => format!("it was not ready within {} s", BROWSER_LIMIT.as_secs()),
                };
                let complaints = running.process.complaints();
                running.process.end().await;
                Err(Problem::Start {
                    program: program.display().to_string(),
                    reason: format!("{reason} ({complaints})"),
                })
            }
        }
    }

    /// Asks to be told of everything, and waits for the first tab.
    async fn set_up(&self) -> Result<(), Problem> {
        let downloads = json!({
            "behavior": "allowAndName",
            "downloadPath": self.process.arrivals.display().to_string(),
            "eventsEnabled": true,
        });
        let attach = json!({
            "autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true,
            "filter": [{"type": "page", "exclude": false}, {"exclude": true}],
        });
        self.browser("Target.setDiscoverTargets", json!({"discover": true}))
            .await?;
        self.browser("Target.setAutoAttach", attach).await?;
        self.browser("Browser.setDownloadBehavior", downloads).await?;
        self.wait(BROWSER_LIMIT, |tabs| tabs.current().is_some()).await;
        Ok(())
    }

    /// The tab that calls are about.
    pub(super) fn tab(&self) -> Result<Tab, Problem> {
        self.tabs.borrow().current().cloned().ok_or(Problem::Gone)
    }

    /// Asks the browser for something.
    pub(super) async fn browser(&self, method: &str, params: Value) -> Result<Value, Problem> {
        let call = self.connection.outbox().call(None, method, params);
        match timeout(BROWSER_LIMIT, call).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(Problem::Refused(format!(
                "{method} took longer than {} s",
                BROWSER_LIMIT.as_secs()
            ))),
        }
    }

    /// Asks a page for something, for as long as it may take.
    pub(super) async fn page(&self, tab: &Tab, method: &str, params: Value) -> Result<Value, Problem> {
        self.page_within(self.limit, tab, method, params).await
    }

    /// Asks a page for something. A page that crashes or goes away does not answer.
    pub(super) async fn page_within(
        &self,
        limit: Duration,
        tab: &Tab,
        method: &str,
        params: Value,
    ) -> Result<Value, Problem> {
        let call = self.connection.outbox().call(Some(&tab.session), method, params);
        let mut tabs = self.tabs.subscribe();
        let lost = tabs.wait_for(|tabs| tabs.by_target(&tab.target).is_none_or(|tab| tab.crashed));
        tokio::select! {
            biased;
            answer = timeout(limit, call) => match answer {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(CallError::Refused(_))) if self.is_crashed(tab) => Err(Problem::Crashed),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(Problem::Unresponsive(limit)),
            },
            _ = lost => Err(if self.is_crashed(tab) {
                Problem::Crashed
            } else {
                Problem::Refused("the tab was closed".to_owned())
            }),
        }
    }

    fn is_crashed(&self, tab: &Tab) -> bool {
        self.tabs
            .borrow()
            .by_target(&tab.target)
            .is_some_and(|tab| tab.crashed)
    }

    /// Waits until something holds. Says whether it does.
    pub(super) async fn wait(&self, limit: Duration, holds: impl FnMut(&Tabs) -> bool) -> bool {
        let mut tabs = self.tabs.subscribe();
        tokio::select! {
            () = self.connection.ended() => false,
            waited = timeout(limit, tabs.wait_for(holds)) => matches!(waited, Ok(Ok(_))),
        }
    }

    /// Opens an empty tab and goes there.
    pub(super) async fn new_tab(&self) -> Result<Tab, Problem> {
        if self.tabs.borrow().all().len() >= MAX_TABS {
            return Err(Problem::TooManyTabs);
        }
        let made = self
            .browser("Target.createTarget", json!({"url": "about:blank"}))
            .await?;
        let target = made["targetId"].as_str().unwrap_or_default();
        let there = self
            .wait(BROWSER_LIMIT, |tabs| tabs.by_target(target).is_some())
            .await;
        if !there {
            return Err(Problem::Refused("no tab could be opened".to_owned()));
        }
        self.tabs.send_modify(|tabs| tabs.choose(target));
        self.tab()
    }

    /// Closes the tab that calls are about and opens another in its place.
    pub(super) async fn replace_tab(&self) -> Result<(), Problem> {
        let old = self.tab()?;
        let outbox = self.connection.outbox();
        // A page that is busy hears nothing but this.
        outbox.post(Some(&old.session), "Page.crash", &json!({}));
        outbox.post(None, "Target.closeTarget", &json!({"targetId": old.target}));
        self.wait(BROWSER_LIMIT, |tabs| tabs.by_target(&old.target).is_none())
            .await;
        self.new_tab().await?;
        Ok(())
    }

    /// A picture of the page, as JPEG in base64.
    pub(super) async fn screenshot(&self) -> Result<String, Problem> {
        let how = json!({"format": "jpeg", "quality": 80});
        let taken = self.page(&self.tab()?, "Page.captureScreenshot", how).await?;
        Ok(taken["data"].as_str().unwrap_or_default().to_owned())
    }
}
