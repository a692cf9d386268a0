//! Skills that are brought in: by the words of a message, or by a file that is touched.

use std::time::Duration;

use deft_skills::Injection;
use deft_types::{Action, Content, EventBody, Message, MessageEvent, Source};
use serde_json::json;

use super::Actor;
use crate::extensions::FindError;
use crate::state::{self, OpenCall, key};
use crate::task_tool;
use crate::turn::Draft;

/// How long reading the skills of a workspace may take, which has to be made first perhaps.
const FIND_LIMIT: Duration = Duration::from_secs(300);

impl Actor {
    /// Finds what people have added, once; gives what is to be noted of it. What is in a workspace that cannot be
    /// reached is left out: the first call says why that is.
    pub(super) async fn find_extensions(&mut self) -> Option<Draft> {
        if self.shelf.is_filled() {
            return None;
        }
        let find = self.extensions.find(self.workspace.as_ref(), self.store.as_ref());
        let found = tokio::time::timeout(FIND_LIMIT, find).await;
        let found = found
            .map_err(|_| "it takes too long".to_owned())
            .and_then(|found| found.map_err(|error: FindError| error.to_string()));
        let is_whole = found.is_ok();
        let mut found = found.unwrap_or_else(|error| {
            tracing::warn!(%error, "what the workspace adds to the agent cannot be read");
            self.extensions.own()
        });
        self.hooks = std::mem::take(&mut found.hooks);
        self.add_servers(std::mem::take(&mut found.servers));
        let undecided = std::mem::take(&mut found.undecided);
        self.shelf.fill(found, is_whole);
        let told = state::update(key::UNDECIDED, json!(undecided));
        (undecided != self.state.undecided).then(|| Draft::new(Source::Environment, told))
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
        let stock = self.shelf.stock();
        let triggered = |text: &str| stock.skills.triggered_by(text, &self.state.activated_skills);
        let brought_in = triggered(&message.plain_text());
        let (names, mut texts) = names_and_texts(brought_in);
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
