//! What a conversation is called, and what it is marked with.

use deft_types::Source;
use serde_json::{Map, Value, json};

use super::Actor;
use crate::command::CommandError;
use crate::label;
use crate::state::{self, key};
use crate::turn::Draft;

impl Actor {
    /// Gives it another title, other tags, or both. What is so already is not said again.
    pub(super) async fn label(
        &mut self,
        title: Option<String>,
        tags: Option<Map<String, Value>>,
    ) -> Result<(), CommandError> {
        let title = title
            .map(|title| label::title(&title).ok_or(CommandError::NoTitle))
            .transpose()?;
        let title = title.filter(|title| self.state.title.as_ref() != Some(title));
        let tags = tags.filter(|tags| self.state.tags.as_ref() != Some(tags));
        let title = title.map(|title| state::update(key::TITLE, json!(title)));
        let tags = tags.map(|tags| state::update(key::TAGS, Value::Object(tags)));
        let told = title.into_iter().chain(tags);
        let told = told.map(|told| Draft::new(Source::Environment, told));
        Ok(self.record(told.collect()).await?)
    }
}
