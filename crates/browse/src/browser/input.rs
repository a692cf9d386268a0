//! Clicks and types.

use deft_types::{BrowserClickAction, BrowserTypeAction};
use serde_json::{Value, json};

use super::answer::Answer;
use super::problem::Problem;
use super::running::Running;
use super::tabs::Tab;
use crate::web_address;

/// How much of what was typed is said again.
const MAX_ECHO_CHARS: usize = 60;

impl Running {
    pub(super) async fn click(&self, action: &BrowserClickAction) -> Result<Answer, Problem> {
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

    pub(super) async fn type_text(&self, action: &BrowserTypeAction) -> Result<Answer, Problem> {
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
            format!("'{}'", text.chars().take(MAX_ECHO_CHARS).collect::<String>())
        };
        self.arrived(format!("Typed {shown} into element {index}")).await
    }
}
