//! What the browser does for each action.

use std::path::Path;
use std::time::Duration;

use deft_types::{Action, BrowserClickAction, BrowserGetContentAction, BrowserTypeAction, ScrollDirection};
use reqwest::Url;
use serde_json::{Value, json};

use super::answer::Answer;
use super::problem::Problem;
use super::session::Running;
use super::tabs::{MAX_NAME_CHARS, Tab, Tabs};
use crate::excerpt::Excerpt;
use crate::markdown::{self, Links};
use crate::web_address;

/// What we do within a page.
const PAGE_SCRIPT: &str = include_str!("page.js");
/// Elements that are listed at most.
const MAX_ELEMENTS: usize = 300;
/// Characters of HTML that are taken from a page.
const MAX_HTML_CHARS: usize = 2_000_000;
/// A page that an action leads to begins to load within this, or there is none.
const SETTLE_LIMIT: Duration = Duration::from_millis(150);
/// A page that stops to load and turns out to be a file does so within this.
const FILE_LIMIT: Duration = Duration::from_millis(500);
/// How long it takes at most to show the page that stands for one that could not be opened.
const ERROR_PAGE_LIMIT: Duration = Duration::from_secs(1);

impl Running {
    pub(super) async fn act(&self, action: &Action, private_dir: &Path) -> Result<Answer, Problem> {
        match action {
            Action::BrowserNavigate(action) => self.navigate(&action.url, action.new_tab).await,
            Action::BrowserClick(action) => self.click(action).await,
            Action::BrowserType(action) => self.type_text(action).await,
            Action::BrowserGetState(action) => self.state(action.include_screenshot).await,
            Action::BrowserGetContent(action) => self.content(action).await,
            Action::BrowserScroll(action) => self.scroll(action.direction).await,
            Action::BrowserGoBack(_) => self.go_back().await,
            Action::BrowserListTabs(_) => self.list_tabs().await,
            Action::BrowserSwitchTab(action) => self.switch_tab(&action.tab_id).await,
            Action::BrowserCloseTab(action) => self.close_tab(&action.tab_id).await,
            Action::BrowserGetStorage(_) => self.storage(private_dir).await,
            Action::BrowserSetStorage(action) => self.set_storage(&action.storage_state).await,
            other => Err(Problem::Refused(format!("it knows no {}", other.kind()))),
        }
    }

    async fn navigate(&self, address: &str, new_tab: bool) -> Result<Answer, Problem> {
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
                // It is the server that does not answer; the page before is still there.
                let _ = self
                    .page_within(SETTLE_LIMIT, tab, "Page.stopLoading", json!({}))
                    .await;
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
        let host = url
            .as_ref()
            .and_then(Url::host_str)
            .map(|host| host.trim_matches(['[', ']']));
        let failure = host.and_then(|host| self.process.proxy.failure(host));
        failure.unwrap_or(error.to_owned())
    }

    /// How many downloads have begun.
    fn downloads(&self) -> u64 {
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
    async fn arrived(&self, said: String) -> Result<Answer, Problem> {
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

    /// Runs a function of the page's script in a world of its own.
    pub(super) async fn run(&self, tab: &Tab, function: &str, arguments: &[Value]) -> Result<Value, Problem> {
        let arguments: Vec<String> = arguments.iter().map(Value::to_string).collect();
        let expression = format!("{}.{function}({})", PAGE_SCRIPT.trim_end(), arguments.join(","));
        let world = json!({"frameId": tab.target, "worldName": "deft"});
        let world = self.page(tab, "Page.createIsolatedWorld", world).await?;
        let run = json!({
            "expression": expression, "contextId": world["executionContextId"], "returnByValue": true,
            "userGesture": true,
        });
        let ran = self.page(tab, "Runtime.evaluate", run).await?;
        match ran
            .pointer("/exceptionDetails/exception/description")
            .and_then(Value::as_str)
        {
            Some(error) => Err(Problem::Refused(
                error.lines().next().unwrap_or_default().to_owned(),
            )),
            None => Ok(ran["result"]["value"].clone()),
        }
    }

    async fn click(&self, action: &BrowserClickAction) -> Result<Answer, Problem> {
        let (tab, index, downloads) = (self.tab()?, action.index, self.downloads());
        let found = self.run(&tab, "click", &[json!(index)]).await?;
        let said = format!("Clicked element {index}");
        match found["outcome"].as_str() {
            Some("at") => {}
            Some("disabled") => return Err(Problem::Disabled(index)),
            Some("select") => return Err(Problem::IsSelect(index)),
            Some("file") => return Err(Problem::IsFile(index)),
            _ => return Err(Problem::NoElement(index)),
        }
        if let Some(link) = found["href"].as_str().filter(|_| action.new_tab) {
            let url = web_address::parse(link)?;
            let tab = self.new_tab().await?;
            self.open(&tab, &url).await?;
            return self
                .arrived(format!("{said} and opened in new tab {}.", tab.id()))
                .await;
        }
        if found["covered"] == true {
            self.run(&tab, "clickAnyway", &[json!(index)]).await?;
        } else {
            self.press(&tab, &found).await?;
        }
        self.settle((&tab, downloads)).await;
        self.arrived(said).await
    }

    /// Clicks with the mouse.
    async fn press(&self, tab: &Tab, place: &Value) -> Result<(), Problem> {
        let opened = self.tabs.borrow().opened;
        for (kind, button) in [
            ("mouseMoved", "none"),
            ("mousePressed", "left"),
            ("mouseReleased", "left"),
        ] {
            let event = json!({
                "type": kind, "x": place["x"], "y": place["y"], "button": button, "clickCount": 1,
            });
            tokio::select! {
                done = self.page(tab, "Input.dispatchMouseEvent", event) => done.map(|_| ())?,
                // A page that opens a tab is behind it then, and Chromium says nothing more of the click.
                true = self.wait(self.limit, |tabs| tabs.opened > opened) => {}
            }
        }
        if self.tabs.borrow().opened > opened {
            self.browser("Target.activateTarget", json!({"targetId": tab.target}))
                .await?;
        }
        Ok(())
    }

    async fn type_text(&self, action: &BrowserTypeAction) -> Result<Answer, Problem> {
        let (tab, index, downloads) = (self.tab()?, action.index, self.downloads());
        let found = self
            .run(&tab, "type", &[json!(index), json!(action.text)])
            .await?;
        match found["outcome"].as_str() {
            Some("ready") => {}
            Some("set") => {
                self.settle((&tab, downloads)).await;
                return Ok(Answer::says(format!("Set element {index}.")).with_page(found["text"].to_string()));
            }
            Some("disabled") => return Err(Problem::Disabled(index)),
            Some("not_text") => return Err(Problem::NotText(index)),
            Some("no_option") => {
                let options = found["options"].to_string();
                return Err(Problem::NoOption { index, options });
            }
            _ => return Err(Problem::NoElement(index)),
        }
        let is_line = found["line"] == true;
        let text = if is_line {
            action.text.trim_end_matches(['\r', '\n'])
        } else {
            &action.text
        };
        self.page(&tab, "Input.insertText", json!({"text": text})).await?;
        if is_line && text.len() < action.text.len() {
            for kind in ["keyDown", "keyUp"] {
                let event = json!({
                    "type": kind, "key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13,
                });
                self.page(&tab, "Input.dispatchKeyEvent", event).await?;
            }
        }
        self.settle((&tab, downloads)).await;
        let shown = if found["secret"] == true {
            "<credential>".to_owned()
        } else {
            format!("'{text}'")
        };
        self.arrived(format!("Typed {shown} into element {index}")).await
    }

    /// Waits for the page or the file that an action leads to. `before` is the tab as it was before the action, with
    /// the number of downloads then.
    async fn settle(&self, (before, downloads): (&Tab, u64)) {
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

    async fn state(&self, include_screenshot: bool) -> Result<Answer, Problem> {
        let tab = self.tab()?;
        let mut state = self.run(&tab, "state", &[json!(MAX_ELEMENTS)]).await?;
        state["tabs"] = self.tab_list().await?;
        let mut answer = Answer::says("The page, with its elements by number:").with_page(state.to_string());
        if include_screenshot {
            answer.screenshot = Some(self.screenshot().await?);
        }
        Ok(answer)
    }

    async fn content(&self, action: &BrowserGetContentAction) -> Result<Answer, Problem> {
        let tab = self.tab()?;
        let found = self.run(&tab, "content", &[json!(MAX_HTML_CHARS)]).await?;
        let links = if action.extract_links {
            Links::Shown
        } else {
            Links::LeftOut
        };
        let url = found["url"].as_str().unwrap_or_default();
        let base = Url::parse(url).ok();
        let page = markdown::convert(found["html"].as_str().unwrap_or_default(), base.as_ref(), links);
        let start = usize::try_from(action.start_from_char).unwrap_or(0);
        let part = Excerpt::of(&page.text, start);
        let mut said = "The page as Markdown.".to_owned();
        if let Some(note) = part.note(start, "start_from_char") {
            said = format!("{said} {note}");
        }
        if found["cut"] == true {
            said.push_str(" [It is so long that only its beginning was read.]");
        }
        let title = found["title"].as_str().unwrap_or_default();
        Ok(Answer::says(said).with_page(format!("url: {url}\ntitle: {title}\n\n{}", part.text)))
    }

    async fn scroll(&self, direction: ScrollDirection) -> Result<Answer, Problem> {
        let (down, said) = match direction {
            ScrollDirection::Down => (true, "Scrolled down"),
            ScrollDirection::Up => (false, "Scrolled up"),
        };
        let at = self.run(&self.tab()?, "scroll", &[json!(down)]).await?;
        let (y, view, height) = (&at["y"], &at["view"], &at["height"]);
        Ok(Answer::says(format!(
            "{said}: {view} pixels from {y} on are shown, of {height}."
        )))
    }

    async fn go_back(&self) -> Result<Answer, Problem> {
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

    async fn list_tabs(&self) -> Result<Answer, Problem> {
        let said = format!("The tabs; {} is the current one:", self.tab()?.id());
        Ok(Answer::says(said).with_page(self.tab_list().await?.to_string()))
    }

    /// Events tell titles late, so the browser is asked.
    async fn tab_list(&self) -> Result<Value, Problem> {
        let targets = self.browser("Target.getTargets", json!({})).await?;
        let targets = targets["targetInfos"].as_array().cloned().unwrap_or_default();
        let short = |value: &Value| {
            value
                .as_str()
                .unwrap_or_default()
                .chars()
                .take(MAX_NAME_CHARS)
                .collect::<String>()
        };
        let tabs = self.tabs.borrow();
        let tabs = tabs.all().iter().map(|tab| {
            let now = targets
                .iter()
                .find(|target| target["targetId"] == tab.target.as_str());
            let (url, title) =
                now.map_or_else(Default::default, |now| (short(&now["url"]), short(&now["title"])));
            json!({"tab_id": tab.id(), "url": url, "title": title})
        });
        Ok(tabs.collect())
    }

    fn find_tab(&self, id: &str) -> Result<Tab, Problem> {
        self.tabs
            .borrow()
            .by_id(id.trim())
            .cloned()
            .ok_or(Problem::NoTab(id.to_owned()))
    }

    async fn switch_tab(&self, id: &str) -> Result<Answer, Problem> {
        let tab = self.find_tab(id)?;
        self.browser("Target.activateTarget", json!({"targetId": tab.target}))
            .await?;
        self.tabs.send_modify(|tabs| tabs.choose(&tab.target));
        self.arrived(format!("Switched to tab {}", tab.id())).await
    }

    async fn close_tab(&self, id: &str) -> Result<Answer, Problem> {
        let tab = self.find_tab(id)?;
        self.browser("Target.closeTarget", json!({"targetId": tab.target}))
            .await?;
        self.wait(self.limit, |tabs| tabs.by_target(&tab.target).is_none())
            .await;
        if self.tabs.borrow().current().is_none() {
            self.new_tab().await?;
        }
        self.arrived(format!("Closed tab # {}, now on {}", tab.id(), self.tab()?.id()))
            .await
    }
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}
