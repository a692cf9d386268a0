//! Cookies and local storage, in the form that Playwright has for them.

use std::path::Path;

use deft_types::Extra;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::Answer;
use super::problem::Problem;
use super::running::Running;
use crate::web_address;

/// More is kept in a file.
const MAX_SHOWN_CHARS: usize = 50_000;
/// Origins whose storage is set in one call.
const MAX_ORIGINS: usize = 20;

/// What a model may set.
#[derive(Deserialize)]
struct State {
    #[serde(default)]
    cookies: Vec<Value>,
    #[serde(default)]
    origins: Vec<Origin>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Origin {
    origin: String,
    #[serde(default)]
    local_storage: Vec<Value>,
}

impl Running {
    pub(super) async fn storage(&self, private_dir: &Path) -> Result<Answer, Problem> {
        let found = self.browser("Storage.getCookies", json!({})).await?;
        let cookies: Vec<Value> = found["cookies"]
            .as_array()
            .into_iter()
            .flatten()
            .map(cookie)
            .collect();
        let mut origins: Vec<Value> = Vec::new();
        let tabs = self.tabs.borrow().all().to_vec();
        for tab in tabs
            .into_iter()
            .filter(|tab| !tab.crashed && tab.url.starts_with("http"))
        {
            let read = self.run(&tab, "readStorage", &[]).await?;
            let is_known = origins.iter().any(|known| known["origin"] == read["origin"]);
            if !is_known
                && read["localStorage"]
                    .as_array()
                    .is_some_and(|stored| !stored.is_empty())
            {
                origins.push(read);
            }
        }
        let state = json!({"cookies": cookies, "origins": origins}).to_string();
        if state.chars().count() <= MAX_SHOWN_CHARS {
            return Ok(Answer::says("Cookies and storage:").with_page(state));
        }
        let path = private_dir.join("browser-storage.json");
        let kept = tokio::fs::write(&path, &state).await;
        kept.map_err(Problem::io(format!("write {}", path.display())))?;
        let shown: String = state.chars().take(MAX_SHOWN_CHARS).collect();
        let said = format!(
            "Cookies and storage, the beginning; all of it is in {}:",
            path.display()
        );
        Ok(Answer::says(said).with_page(shown))
    }

    pub(super) async fn set_storage(&self, state: &Extra) -> Result<Answer, Problem> {
        let bad = |error: String| Problem::BadStorage(error);
        let state =
            State::deserialize(&Value::Object(state.clone())).map_err(|error| bad(error.to_string()))?;
        if state.origins.len() > MAX_ORIGINS {
            return Err(bad(format!("it has more than {MAX_ORIGINS} origins")));
        }
        if !state.cookies.is_empty() {
            let cookies: Vec<Value> = state.cookies.iter().map(cookie).collect();
            let set = self
                .browser("Storage.setCookies", json!({"cookies": cookies}))
                .await;
            set.map_err(|problem| match problem {
                Problem::Refused(reason) => bad(reason),
                other => other,
            })?;
        }
        for origin in state.origins {
            self.set_origin(&origin).await?;
        }
        Ok(Answer::says("Storage set successfully"))
    }

    /// Only a page of an origin can write its storage, so there is one for a moment: an empty one that no server is
    /// asked for, see `Fetch.requestPaused` in `tabs`.
    async fn set_origin(&self, origin: &Origin) -> Result<(), Problem> {
        let url = web_address::parse(&origin.origin)?;
        let before = self.tab()?;
        let tab = self.new_tab().await?;
        let set = async {
            self.page(&tab, "Fetch.enable", json!({})).await?;
            self.open(&tab, &url).await?;
            self.run(&tab, "writeStorage", &[json!(origin.local_storage)])
                .await
        };
        let set = set.await;
        self.tabs.send_modify(|tabs| tabs.choose(&before.target));
        self.browser("Target.closeTarget", json!({"targetId": tab.target}))
            .await?;
        self.browser("Target.activateTarget", json!({"targetId": before.target}))
            .await?;
        set.map(|_| ())
    }
}

/// The fields of a cookie that can be set again.
fn cookie(found: &Value) -> Value {
    let fields = [
        "name", "value", "domain", "path", "url", "expires", "httpOnly", "secure", "sameSite",
    ];
    let fields = fields
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), found.get(name)?.clone())));
    // The end of a session is written as -1, which would be long ago.
    Value::Object(
        fields
            .filter(|(name, value)| name != "expires" || value.as_f64() != Some(-1.0))
            .collect(),
    )
}
