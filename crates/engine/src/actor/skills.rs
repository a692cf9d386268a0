//! Skills that are brought in: by the words of a message, or by a file that is touched.

use deft_risk::named_paths;
use deft_skills::Injection;
use deft_types::{Action, Content, EventBody, Message, MessageEvent, Observation, Source};
use serde_json::json;

use super::Actor;
use crate::state::{self, OpenCall, key};
use crate::task_tool;
use crate::turn::Draft;

impl Actor {
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
        let activated = &self.state.activated_skills;
        let (names, mut texts) = names_and_texts(stock.skills.triggered_by(&message.plain_text(), activated));
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
        let EventBody::Observation(observed) = &mut result?.body else {
            return None;
        };
        let stock = self.shelf.stock();
        let mut given = self.state.path_rules.clone();
        if !stock.skills.has_path_rules(&given) {
            return None;
        }
        let action = call.event.action.as_ref()?;
        let mut paths = touched_files(action);
        paths.extend(named_files(action, &observed.observation, &stock.workspace));
        for path in paths {
            let (names, texts) = names_and_texts(stock.skills.for_path(&path, &given));
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

pub(super) fn names_and_texts(brought_in: Vec<Injection>) -> (Vec<String>, Vec<Content>) {
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

/// A file, or a directory, which ends with a slash.
fn place(path: &str) -> Vec<String> {
    vec![path.to_owned(), format!("{}/", path.trim_end_matches('/'))]
}

/// The files that a command for the shell names. The shell may have been in another directory than the workspace, which is
/// the one that it stands in now.
fn named_files(action: &Action, result: &Observation, workspace: &str) -> Vec<String> {
    let (Action::Terminal(ran), Observation::Terminal(seen)) = (action, result) else {
        return Vec::new();
    };
    if ran.is_input {
        return Vec::new(); // it is for the program that runs
    }
    let now = seen
        .metadata
        .working_dir
        .as_deref()
        .filter(|now| *now != workspace);
    let shells = std::iter::once(workspace).chain(now);
    let named = shells.flat_map(|directory| named_paths(&ran.command, directory));
    named.flat_map(|path| place(&path)).collect()
}

/// The files that an action is about.
fn touched_files(action: &Action) -> Vec<String> {
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
