//! Goes from page to page, and waits until it is there.

use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};

use super::answer::Answer;
use super::problem::Problem;
use super::running::Running;
use super::tabs::{Tab, Tabs};
use crate::web_address;

/// A page that an action leads to begins to load within this, or there is none.
const SETTLE_LIMIT: Duration = Duration::from_millis(150);
/// A page that does not do nothing within this does not do anything.
const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// A page that stops to load and turns out to be a file does so within this.
const FILE_LIMIT: Duration = Duration::from_millis(500);
/// How long it takes at most to show the page that stands for one that could not be opened.
const ERROR_PAGE_LIMIT: Duration = Duration::from_secs(1);

impl Running {
    pub(super) async fn navigate(&self, address: &str, new_tab: bool) -> Result<Answer, Problem> {
        let url = web_address::parse(address)?;
        let tab = if new_tab {
            self.new_tab().await?
        } else {
            self.tab()?
        };
        self.open(&tab, &url).await?;
        let said = if new_tab {
            "Opened new tab with URL"
        } else {
            "Navigated to"
        };
        self.arrived(format!("{said}: {url}")).await
    }

    /// Opens an address in a tab and waits until it is there.
    pub(super) async fn open(&self, tab: &Tab, url: &Url) -> Result<(), Problem> {
        let failed = |reason: String| Problem::NotOpened {
            url: url.to_string(),
            reason,
        };
        let downloads = self.downloads();
        let opened = match self
            .page(tab, "Page.navigate", json!({"url": url.as_str()}))
            .await
        {
            Err(Problem::Unresponsive(limit)) => {
                // It is the server that does not answer, unless the page before it does not either.
                let nothing = json!({"expression": "0"});
                self.page_within(PROBE_LIMIT, tab, "Page.stopLoading", json!({}))
                    .await?;
                self.page_within(PROBE_LIMIT, tab, "Runtime.evaluate", nothing)
                    .await?;
                return Err(failed(format!("no answer within {} s", limit.as_secs_f64())));
            }
            opened => opened?,
        };
        match opened["errorText"].as_str() {
            Some(_) if opened["isDownload"] == true || self.downloads() > downloads => {
                self.wait_for_downloads(downloads).await;
                return Ok(());
            }
            Some(error) => return Err(failed(self.reason(tab, error).await)),
            None => {}
        }
        if let Some(loader) = opened["loaderId"].as_str() {
            let is_there = |tab: &Tab| tab.loaded == loader || tab.crashed;
            self.wait(self.limit, |tabs| {
                tabs.by_target(&tab.target).is_none_or(is_there)
            })
            .await;
        }
        Ok(())
    }

    /// Why an address could not be opened, which may be one that the first led to. The page that stands for it tells.
    async fn reason(&self, tab: &Tab, error: &str) -> String {
        self.wait(ERROR_PAGE_LIMIT, |tabs| {
            tabs.by_target(&tab.target)
                .is_none_or(|now| now.documents > tab.documents)
        })
        .await;
        let url = self.tab().ok().and_then(|tab| Url::parse(&tab.url).ok());
        let host = url.as_ref().and_then(Url::host_str);
        let failure = host.and_then(|host| self.process.proxy.failure(host));
        failure.unwrap_or(error.to_owned())
    }

    /// How many downloads have begun.
    pub(super) fn downloads(&self) -> u64 {
        self.tabs.borrow().downloads.begun
    }

    /// Waits for files that have begun to come since then.
    async fn wait_for_downloads(&self, since: u64) {
        self.wait(self.limit, |tabs| {
            tabs.downloads.begun > since && !tabs.downloads.any_running()
        })
        .await;
    }

    /// Says where we are now.
    pub(super) async fn arrived(&self, said: String) -> Result<Answer, Problem> {
        let tab = self.tab()?;
        let (url, title) = match self.run(&tab, "where", &[]).await {
            Ok(at) => (at["url"].clone(), at["title"].clone()),
            Err(Problem::Refused(_)) => (json!(tab.url), json!(tab.title)), // it is on its way elsewhere
            Err(problem) => return Err(problem),
        };
        let still = if self.tab()?.loading {
            " (still loading)"
        } else {
            ""
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let page = format!("url: {}\ntitle: {}", text(&url), text(&title));
        Ok(Answer::says(format!("{said}{still}")).with_page(page))
    }

    /// Waits for the page or the file that an action leads to. `before` is the tab as it was before the action, with
    /// the number of downloads then.
    pub(super) async fn settle(&self, (before, downloads): (&Tab, u64)) {
        let is_another = |tab: &Tab| tab.crashed || tab.documents > before.documents;
        let moves = |tab: &Tab| tab.loading || is_another(tab);
        let rests = |tab: &Tab| !tab.loading || tab.crashed;
        let came = |tabs: &Tabs| tabs.downloads.begun > downloads;
        let of = |tabs: &Tabs, holds: &dyn Fn(&Tab) -> bool| tabs.by_target(&before.target).is_none_or(holds);
        let began = self
            .wait(SETTLE_LIMIT, |tabs| came(tabs) || of(tabs, &moves))
            .await;
        if !began {
            return;
        }
        self.wait(self.limit, |tabs| came(tabs) || of(tabs, &rests)).await;
        // What stops to load and is no other page becomes a file.
        self.wait(FILE_LIMIT, |tabs| came(tabs) || of(tabs, &is_another))
            .await;
        if self.downloads() > downloads {
            self.wait_for_downloads(downloads).await;
        }
    }

    pub(super) async fn go_back(&self) -> Result<Answer, Problem> {
        let tab = self.tab()?;
        let history = self.page(&tab, "Page.getNavigationHistory", json!({})).await?;
        let before = history["currentIndex"]
            .as_u64()
            .and_then(|current| current.checked_sub(1));
        let before = before.and_then(|before| history["entries"].get(usize::try_from(before).ok()?));
        let entry = before
            .filter(|entry| entry["url"] != "about:blank")
            .ok_or(Problem::NoHistory)?;
        let documents = tab.documents;
        let go = json!({"entryId": entry["id"]});
        self.page(&tab, "Page.navigateToHistoryEntry", go).await?;
        // A page that was kept is there without being loaded.
        let is_there = |tab: &Tab| tab.crashed || (tab.documents > documents && !tab.loading);
        let is_same_document =
            entry["url"].as_str().map(without_fragment) == Some(without_fragment(&tab.url));
        let limit = if is_same_document {
            SETTLE_LIMIT
        } else {
            self.limit
        };
        self.wait(limit, |tabs| tabs.by_target(&tab.target).is_none_or(is_there))
            .await;
        self.arrived("Navigated back".to_owned()).await
    }
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}
