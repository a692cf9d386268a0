//! Skills that are brought in: by the words of a message, or by a file that is touched.

use std::time::Duration;

use deft_skills::Injection;
use deft_types::{Action, Content, EventBody, Message, MessageEvent, Source};
use serde_json::json;

use super::Actor;
use crate::skills::FindSkillsError;
use crate::state::{self, OpenCall, key};
use crate::turn::Draft;

/// How long reading the skills of a workspace may take, which has to be made first perhaps.
const FIND_LIMIT: Duration = Duration::from_secs(300);

impl Actor {
    /// Finds the skills, once. Those of a workspace that cannot be reached are left out: the first call says why.
    pub(super) async fn find_skills(&mut self) {
        let Some(sources) = self
            .extensions
            .skills
            .as_ref()
            .filter(|_| !self.shelf.is_filled())
        else {
            return;
        };
        let found = tokio::time::timeout(FIND_LIMIT, sources.find(self.workspace.as_ref())).await;
        let skills = found
            .map_err(|_| "it takes too long".to_owned())
            .and_then(|found| found.map_err(|error: FindSkillsError| error.to_string()));
        self.shelf.fill(skills.unwrap_or_else(|error| {
            tracing::warn!(%error, "the skills of the workspace cannot be read");
            sources.joined(deft_skills::Skills::default())
        }));
    }

    /// The parts of the prompt that tell of skills.
    pub(super) fn skills_in_prompt(&self) -> Vec<String> {
        let skills = self.shelf.skills();
        [skills.repo_context(), skills.catalogue()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// A message of the user's with the skills that its words bring in, each once a conversation.
    pub(super) fn with_skills(&self, message: Message) -> MessageEvent {
        let skills = self.shelf.skills();
        let brought_in = skills.triggered_by(&message.plain_text(), &self.state.activated_skills);
        let (names, texts) = names_and_texts(brought_in);
        MessageEvent {
            activated_skills: names,
            extended_content: texts,
            ..MessageEvent::new(message)
        }
    }

    /// Adds the rules for the file that a call has touched to its result, each once a conversation; gives what is to be
    /// noted of that.
    pub(super) fn add_path_rules(&self, call: &OpenCall, result: Option<&mut Draft>) -> Option<Draft> {
        let path = call.event.action.as_ref().and_then(touched_file)?;
        let EventBody::Observation(observed) = &mut result?.body else {
            return None;
        };
        let mut given = self.state.path_rules.clone();
        let (names, texts) = names_and_texts(self.shelf.skills().for_path(path, &given));
        if names.is_empty() {
            return None;
        }
        observed.extended_content.extend(texts);
        given.extend(names);
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

/// The file that an action is about, if it is about one.
fn touched_file(action: &Action) -> Option<&str> {
    match action {
        Action::FileEditor(action) => Some(&action.path),
        Action::PlanningFileEditor(action) => Some(&action.path),
        Action::Edit(action) => Some(&action.file_path),
        Action::ReadFile(action) => Some(&action.file_path),
        Action::WriteFile(action) => Some(&action.file_path),
        _ => None,
    }
}
