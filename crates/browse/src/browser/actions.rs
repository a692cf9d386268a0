//! What the browser does for each action.

use std::path::Path;

use deft_types::{Action, BrowserGetContentAction, ScrollDirection};
use reqwest::Url;
use serde_json::{Value, json};

use super::answer::Answer;
use super::problem::Problem;
use super::running::Running;
use super::tabs::{MAX_NAME_CHARS, Tab};
use crate::excerpt::Excerpt;
use crate::markdown::{self, Links};

/// What we do within a page.
const PAGE_SCRIPT: &str = include_str!("page.js");
/// Elements that are listed at most.
const MAX_ELEMENTS: usize = 300;
/// Characters of HTML that are taken from a page.
const MAX_HTML_CHARS: usize = 2_000_000;

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
