//! What we know of the browser, by its events.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::connection::{Event, Outbox};
use super::downloads::Downloads;

/// Tabs at the same time; further ones are closed as soon as a page opens them.
pub(super) const MAX_TABS: usize = 20;
/// What is told with the next answer; the oldest give way.
const MAX_NOTES: usize = 10;
/// How much of a dialog's words is told.
const MAX_DIALOG_CHARS: usize = 300;
/// How much of an address or title is kept.
pub(super) const MAX_NAME_CHARS: usize = 500;

/// Something that the model should know beside the answer to its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// In our words.
    Ours(String),
    /// In words of the page.
    Page(String),
}

/// What we know of the browser.
#[derive(Default)]
pub(super) struct Tabs {
    list: Vec<Tab>,
    /// The target of the tab that calls are about.
    current: Option<String>,
    notes: VecDeque<Note>,
    /// How many tabs pages have opened.
    pub(super) opened: u64,
    pub(super) downloads: Downloads,
}

/// One tab.
#[derive(Clone, Debug, Default)]
pub(super) struct Tab {
    /// How the browser calls it, and also its main frame.
    pub(super) target: String,
    /// How it is spoken to.
    pub(super) session: String,
    pub(super) url: String,
    pub(super) title: String,
    pub(super) crashed: bool,
    /// Something of it is on its way.
    pub(super) loading: bool,
    /// The document that was last loaded to its end.
    pub(super) loaded: String,
    /// How many documents it has shown.
    pub(super) documents: u64,
}

impl Tab {
    /// The name the model knows it by.
    pub(super) fn id(&self) -> &str {
        self.target
            .get(self.target.len().saturating_sub(4)..)
            .unwrap_or(&self.target)
    }
}

impl Tabs {
    /// The tab that calls are about.
    pub(super) fn current(&self) -> Option<&Tab> {
        let current = self.current.as_deref()?;
        self.by_target(current)
    }

    pub(super) fn by_target(&self, target: &str) -> Option<&Tab> {
        self.list.iter().find(|tab| tab.target == target)
    }

    pub(super) fn by_id(&self, id: &str) -> Option<&Tab> {
        self.list.iter().find(|tab| tab.id() == id)
    }

    pub(super) fn all(&self) -> &[Tab] {
        &self.list
    }

    pub(super) fn choose(&mut self, target: &str) {
        self.current = Some(target.to_owned());
    }

    pub(super) fn note(&mut self, note: Note) {
        if self.notes.len() == MAX_NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(note);
    }

    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        self.notes.drain(..).collect()
    }

    /// Takes in what happened, and answers it where the browser waits for that.
    pub(super) fn apply(&mut self, event: &Event, outbox: &Outbox) {
        let params = &event.params;
        let text = |pointer: &str| {
            params
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        match event.method.as_str() {
            "Target.attachedToTarget" => self.attached(params, outbox),
            "Target.detachedFromTarget" => {
                let gone = text("/sessionId");
                self.remove(|tab| tab.session == gone);
            }
            "Target.targetDestroyed" => {
                let gone = text("/targetId");
                self.remove(|tab| tab.target == gone);
            }
            "Target.targetInfoChanged" => {
                let (url, title) = (name(text("/targetInfo/url")), name(text("/targetInfo/title")));
                if let Some(tab) = self.by_target_mut(text("/targetInfo/targetId")) {
                    (tab.url, tab.title) = (url, title);
                }
            }
            "Target.targetCrashed" => {
                if let Some(tab) = self.by_target_mut(text("/targetId")) {
                    tab.crashed = true;
                }
            }
            "Inspector.targetCrashed" => {
                if let Some(tab) = self.of(event) {
                    tab.crashed = true;
                }
            }
            "Page.frameNavigated" if params.pointer("/frame/parentId").is_none() => {
                // A page that could not be opened has an address of the browser's own.
                let url = match text("/frame/unreachableUrl") {
                    "" => name(text("/frame/url")),
                    meant => name(meant),
                };
                if let Some(tab) = self.of(event) {
                    tab.url = url;
                    tab.documents += 1;
                }
            }
            "Page.lifecycleEvent" if text("/name") == "load" => {
                let (frame, loader) = (text("/frameId"), text("/loaderId").to_owned());
                if let Some(tab) = self.of(event).filter(|tab| tab.target == frame) {
                    tab.loaded = loader;
                }
            }
            "Page.frameStartedLoading" | "Page.frameStoppedLoading" => {
                let frame = text("/frameId");
                let loading = event.method == "Page.frameStartedLoading";
                if let Some(tab) = self.of(event).filter(|tab| tab.target == frame) {
                    tab.loading = loading;
                }
            }
            "Page.javascriptDialogOpening" => {
                // Nobody is there to answer: what waits for an answer would wait for ever.
                let answer = json!({"accept": true, "promptText": text("/defaultPrompt")});
                outbox.post(event.session.as_deref(), "Page.handleJavaScriptDialog", &answer);
                let words: String = text("/message").chars().take(MAX_DIALOG_CHARS).collect();
                let note = format!("A dialog ({}), answered with OK: {words}", text("/type"));
                self.note(Note::Page(note));
            }
            "Fetch.requestPaused" => {
                // Only where we write the storage of an origin, see `storage`: no server is asked.
                let answer = json!({
                    "requestId": text("/requestId"),
                    "responseCode": 200,
                    "responseHeaders": [{"name": "Content-Type", "value": "text/html"}],
                });
                outbox.post(event.session.as_deref(), "Fetch.fulfillRequest", &answer);
            }
            "Browser.downloadWillBegin" => self.downloads.begin(text("/guid"), text("/suggestedFilename")),
            "Browser.downloadProgress" => self.downloads.progress(params, outbox),
            _ => {}
        }
    }

    fn attached(&mut self, params: &Value, outbox: &Outbox) {
        let text = |pointer: &str| {
            params
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let target = text("/targetInfo/targetId").to_owned();
        let by_page = params.pointer("/targetInfo/openerId").is_some();
        self.opened += u64::from(by_page);
        if self.list.len() >= MAX_TABS {
            outbox.post(None, "Target.closeTarget", &json!({"targetId": target}));
            let note = format!("A tab was closed at once, because there are {MAX_TABS} already.");
            if self.notes.back() != Some(&Note::Ours(note.clone())) {
                self.note(Note::Ours(note));
            }
            return;
        }
        let session = text("/sessionId").to_owned();
        for (method, params) in [
            ("Page.enable", json!({})),
            ("Page.setLifecycleEventsEnabled", json!({"enabled": true})),
            ("Inspector.enable", json!({})),
        ] {
            outbox.post(Some(&session), method, &params);
        }
        let tab = Tab {
            target: target.clone(),
            session,
            url: name(text("/targetInfo/url")),
            ..Tab::default()
        };
        if by_page {
            self.note(Note::Ours(format!("The page opened a new tab: {}.", tab.id())));
        }
        self.list.push(tab);
        self.current.get_or_insert(target);
    }

    fn remove(&mut self, gone: impl Fn(&Tab) -> bool) {
        self.list.retain(|tab| !gone(tab));
        if self.current().is_none() {
            self.current = self.list.last().map(|tab| tab.target.clone());
        }
    }

    fn of(&mut self, event: &Event) -> Option<&mut Tab> {
        let session = event.session.as_deref()?;
        self.list.iter_mut().find(|tab| tab.session == session)
    }

    fn by_target_mut(&mut self, target: &str) -> Option<&mut Tab> {
        self.list.iter_mut().find(|tab| tab.target == target)
    }
}

fn name(text: &str) -> String {
    text.chars().take(MAX_NAME_CHARS).collect()
}
