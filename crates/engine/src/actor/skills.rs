//! Skills that are brought in: by the words of a message, or by a file that is touched.

use std::time::Duration;

use deft_skills::Injection;
use deft_store::StoreError;
use deft_types::{Action, Content, EventBody, Message, MessageEvent, Role, Source};
use serde_json::json;
use tokio_util::task::AbortOnDropHandle;

use super::Actor;
use super::work::Work;
use crate::extensions::{FindError, Found};
use crate::state::{self, OpenCall, key};
use crate::task_tool;
use crate::turn::Draft;

/// How long reading the skills of a workspace may take, which has to be made first perhaps.
const SEEK_LIMIT: Duration = Duration::from_secs(300);
/// How long the first message waits for them. If they take longer it is stored without, and the prompt behind it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reads what people have added, apart from the conversation, which hears what it is told meanwhile.
pub(crate) type Seeking = AbortOnDropHandle<Result<Found, String>>;

impl Actor {
    /// Begins to seek what people have added, if that was not found yet.
    pub(super) fn seek_extensions(&mut self) {
        if self.shelf.is_filled() || self.seeking.is_some() {
            return;
        }
        let reads_project = self.extensions.reads_project();
        self.stock_shelf(self.extensions.own(), !reads_project);
        if !reads_project {
            return;
        }
        let (extensions, workspace) = (self.extensions.clone(), self.workspace.clone());
        let (store, live) = (self.store.clone(), self.live.clone());
        let seek = async move {
            let place = workspace.as_ref();
            let find = live.show_preparation(place, extensions.find(place, store.as_ref()));
            match tokio::time::timeout(SEEK_LIMIT, find).await {
                Ok(found) => found.map_err(|error: FindError| error.to_string()),
                Err(_) => Err("it takes too long".to_owned()),
            }
        };
        self.seeking = Some(AbortOnDropHandle::new(tokio::spawn(seek)));
    }

    /// The same, and waits a moment where the prompt is still to be written. Gives what is to be noted.
    pub(super) async fn await_extensions(&mut self) -> Option<Draft> {
        self.seek_extensions();
        if self.state.has_prompt {
            return None;
        }
        let mut seeking = self.seeking.take()?;
        match tokio::time::timeout(PATIENCE, &mut seeking).await {
            Ok(Ok(found)) => self.take_extensions(found),
            Ok(Err(_)) => None, // it has panicked, or the runtime ends
            Err(_) => {
                self.seeking = Some(seeking);
                None
            }
        }
    }

    /// Lets the run wait for what is sought, and writes the prompt that the first message did not wait for. Gives whether
    /// one of them was to be done.
    pub(super) async fn settle_extensions(&mut self) -> Result<bool, StoreError> {
        if let Some(seeking) = self.seeking.take() {
            self.work = Some(Work::Seek(seeking));
            return Ok(true);
        }
        if self.state.has_prompt {
            return Ok(false);
        }
        let mut drafts = vec![Draft::new(Source::Agent, self.system_prompt())];
        drafts.extend(self.late_skills());
        self.record(drafts).await?;
        Ok(true)
    }

    /// Takes what was found; gives what is to be noted of it. What is in a workspace that cannot be reached is left out:
    /// the first call says why that is.
    pub(super) fn take_extensions(&mut self, found: Result<Found, String>) -> Option<Draft> {
        let mut found = found
            .inspect_err(|error| {
                tracing::warn!(%error, "what the workspace adds to the agent cannot be read");
            })
            .ok()?;
        let undecided = std::mem::take(&mut found.undecided);
        self.stock_shelf(found, true);
        let told = state::update(key::UNDECIDED, json!(undecided));
        (undecided != self.state.undecided).then(|| Draft::new(Source::Environment, told))
    }

    fn stock_shelf(&mut self, mut found: Found, is_whole: bool) {
        self.hooks = std::mem::take(&mut found.hooks);
        self.add_servers(std::mem::take(&mut found.servers));
        self.shelf.fill(found, is_whole);
    }

    /// The skills that the words of messages bring in which were stored before those were found.
    fn late_skills(&self) -> Option<Draft> {
        let said = self.state.unhooked.iter().map(|(_, text)| text.as_str());
        let (names, texts) = self.triggered_by(&said.collect::<Vec<_>>().join("\n"));
        let brought_in = MessageEvent {
            activated_skills: names,
            ..MessageEvent::new(Message::new(Role::User, texts.clone()))
        };
        (!texts.is_empty()).then(|| Draft::new(Source::Environment, brought_in))
    }

    fn triggered_by(&self, text: &str) -> (Vec<String>, Vec<Content>) {
        let stock = self.shelf.stock();
        names_and_texts(stock.skills.triggered_by(text, &self.state.activated_skills))
    }

    /// The parts of the prompt that people have added.
    pub(super) fn added_to_prompt(&self) -> Vec<String> {
        let stock = self.shelf.stock();
        let found = [
            stock.skills.repo_context(),
            stock.notes.clone(),
            stock.skills.catalogue(),
            task_tool::catalogue(&stock.agents).filter(|_| self.host.get("task").is_some()),
        ];
        let found = found.into_iter().flatten();
        found.chain(self.extensions.brief.in_prompt()).collect()
    }

    /// A message of the user's with the skills that its words bring in, each once a conversation.
    pub(super) fn with_skills(&self, message: Message) -> MessageEvent {
        let (names, mut texts) = self.triggered_by(&message.plain_text());
        texts.extend(self.extensions.brief.message_suffix.clone().map(Content::text));
        MessageEvent {
            activated_skills: names,
            extended_content: texts,
            ..MessageEvent::new(message)
        }
    }

    /// Adds the rules for the files that a call has touched to its result, each once a conversation; gives what is to be
    /// noted of that.
    pub(super) fn add_path_rules(&self, call: &OpenCall, result: Option<&mut Draft>) -> Option<Draft> {
        let paths = touched_files(call.event.action.as_ref()?);
        let EventBody::Observation(observed) = &mut result?.body else {
            return None;
        };
        let mut given = self.state.path_rules.clone();
        for path in paths {
            let (names, texts) = names_and_texts(self.shelf.stock().skills.for_path(&path, &given));
            observed.extended_content.extend(texts);
            given.extend(names);
        }
        if given == self.state.path_rules {
            return None;
        }
        let told = state::update(key::PATH_RULES, json!(given));
        Some(Draft::new(Source::Environment, told))
    }
}

fn names_and_texts(brought_in: Vec<Injection>) -> (Vec<String>, Vec<Content>) {
    brought_in
        .into_iter()
        .map(|injection| (injection.skill, Content::text(injection.text)))
        .unzip()
}

/// The lines of a patch that name a file begin so.
const PATCHED: [&str; 4] = [
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
];

/// The files that an action is about. A place that is searched may be a file or a directory, which ends with a slash.
fn touched_files(action: &Action) -> Vec<String> {
    let place = |path: &str| vec![path.to_owned(), format!("{}/", path.trim_end_matches('/'))];
    let searched = |path: &Option<String>| path.as_deref().map(place).unwrap_or_default();
    match action {
        Action::FileEditor(action) => vec![action.path.clone()],
        Action::PlanningFileEditor(action) => vec![action.path.clone()],
        Action::Edit(action) => vec![action.file_path.clone()],
        Action::ReadFile(action) => vec![action.file_path.clone()],
        Action::WriteFile(action) => vec![action.file_path.clone()],
        Action::ApplyPatch(action) => {
            let named = |line: &str| {
                PATCHED
                    .iter()
                    .find_map(|start| line.strip_prefix(start).map(str::to_owned))
            };
            action.patch.lines().filter_map(named).collect()
        }
        Action::Grep(action) => searched(&action.path),
        Action::Glob(action) => searched(&action.path),
        Action::ListDirectory(action) => place(&action.dir_path),
        _ => Vec::new(),
    }
}
