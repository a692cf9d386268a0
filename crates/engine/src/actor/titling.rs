//! Has a model name the conversation, beside everything else.

use deft_llm::{Model, Reply};
use deft_store::StoreError;
use deft_types::Source;
use serde_json::json;

use super::{Actor, spending};
use crate::state::{self, key};
use crate::titling;
use crate::turn::Draft;

/// What titles are counted as.
const USAGE_ID: &str = "title";

impl Actor {
    /// Begins to ask for a title of what the user says first, where a model is to give one.
    pub(super) fn begin_title(&mut self, message: &str) {
        let may = self.state.title.is_none() && self.spent_budget().is_none();
        let model = self.titles.clone().filter(|_| may);
        self.titling = model.map(|model| titling::ask(model, self.title_prompt.as_deref(), message));
    }

    /// Counts what a title has cost, and takes it if nobody gave another meanwhile.
    pub(super) async fn take_title(&mut self, model: &dyn Model, reply: &Reply) -> Result<(), StoreError> {
        let call = spending::Call {
            usage_id: USAGE_ID,
            profile: model.profile(),
            at: self.world.now(),
        };
        let stats = spending::add_reply(&self.state.stats, &call, reply);
        let title = titling::read(&reply.text).filter(|_| self.state.title.is_none());
        let title = title.map(|title| state::update(key::TITLE, json!(title)));
        let told = [state::update(key::STATS, json!(stats))].into_iter().chain(title);
        let told = told.map(|told| Draft::new(Source::Environment, told));
        self.record(told.collect()).await
    }
}
