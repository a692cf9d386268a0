//! What people have added is sought: in the workspace, which may have to be made first, so nobody waits for it but the run.

use std::time::Duration;

use deft_store::StoreError;
use deft_types::{Message, MessageEvent, Role, Source};
use serde_json::json;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

use super::Actor;
use super::skills::names_and_texts;
use super::work::Work;
use crate::extensions::{FindError, Found};
use crate::state::{self, key};
use crate::trust::{Decisions, Provided};
use crate::turn::Draft;

/// How long a message waits for them where nothing else is to be heard. If they take longer it is stored without, and they
/// are told behind it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reads what people have added, apart from the conversation, which hears what it is told meanwhile.
pub(crate) type Seeking = AbortOnDropHandle<Result<Found, String>>;

impl Actor {
    /// Has the project read again, where what runs by itself may be another now, or what was decided about it.
    pub(super) async fn heed_decisions(&mut self) -> Result<(), StoreError> {
        let stock = self.shelf.stock();
        if !stock.provided.is_empty() && !stock.is_current(&Decisions::load(self.store.as_ref()).await?) {
            self.shelf.empty();
        }
        Ok(())
    }

    /// Begins to seek what people have added, if that was not found yet.
    pub(super) fn seek_extensions(&mut self) {
        if self.shelf.is_filled() || self.is_seeking() {
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
            find.await.map_err(|error: FindError| error.to_string())
        };
        self.seeking = Some(AbortOnDropHandle::new(tokio::spawn(seek)));
    }

    fn is_seeking(&self) -> bool {
        self.seeking.is_some() || matches!(self.work, Some(Work::Seek(_)))
    }

    /// Lets what is sought be found without a run that waits for it.
    pub(super) fn leave_seeking(&mut self) {
        if let Some(Work::Seek(seeking)) = self.work.take_if(|work| matches!(work, Work::Seek(_))) {
            self.seeking = Some(seeking);
        }
    }

    /// What stands in the log before a message: the prompt, where there is none, and what was found meanwhile.
    pub(super) async fn before_message(&mut self) -> Vec<Draft> {
        self.seek_extensions();
        if self.work.is_none()
            && let Some(mut seeking) = self.seeking.take()
        {
            match tokio::time::timeout(PATIENCE, &mut seeking).await {
                Ok(found) => return self.take_extensions(flat(found)),
                Err(_) => self.seeking = Some(seeking),
            }
        }
        let prompt = || self.missing_prompt();
        (!self.is_seeking()).then(prompt).flatten().into_iter().collect()
    }

    /// Lets the run wait for what is sought, and writes the prompt if there is still none. Gives whether one of them was to
    /// be done.
    pub(super) async fn settle_extensions(&mut self) -> Result<bool, StoreError> {
        if self.shelf.is_empty() {
            self.seek_extensions(); // a call was approved before anything was said
        }
        if let Some(seeking) = self.seeking.take() {
            self.work = Some(Work::Seek(seeking));
            return Ok(true);
        }
        let prompt = self.missing_prompt();
        let is_missing = prompt.is_some();
        self.record(prompt.into_iter().collect()).await?;
        Ok(is_missing)
    }

    /// Takes what was found; gives what is to be noted. What is in a workspace that cannot be reached is left out: the first
    /// call says why that is.
    pub(super) fn take_extensions(&mut self, found: Result<Found, String>) -> Vec<Draft> {
        match found {
            Ok(found) => self.stock_shelf(found, true),
            Err(error) => tracing::warn!(%error, "what the workspace adds to the agent cannot be read"),
        }
        let mut drafts: Vec<_> = self.missing_prompt().into_iter().collect();
        drafts.extend(self.late_skills());
        if self.shelf.is_filled() {
            drafts.extend(self.provided());
        }
        drafts
    }

    /// What the project brings along, as far as the log does not say so.
    fn provided(&self) -> Vec<Draft> {
        let stock = self.shelf.stock();
        let update = |key, value| Draft::new(Source::Environment, state::update(key, value));
        let undecided = stock.undecided();
        let is_known = |provided: &Provided| self.state.asked_about.contains(provided);
        let mut drafts = Vec::new();
        if undecided != self.state.undecided {
            drafts.push(update(key::UNDECIDED, json!(undecided)));
        }
        if !stock
            .provided
            .iter()
            .all(|provided| is_known(provided) || undecided.contains(provided))
        {
            drafts.push(update(key::PROVIDED, json!(stock.provided)));
        }
        drafts
    }

    fn missing_prompt(&self) -> Option<Draft> {
        (!self.state.has_prompt).then(|| Draft::new(Source::Agent, self.system_prompt()))
    }

    fn stock_shelf(&mut self, mut found: Found, is_whole: bool) {
        self.hooks = std::mem::take(&mut found.hooks);
        self.add_servers(std::mem::take(&mut found.servers));
        self.shelf.fill(found, is_whole);
    }

    /// The skills that the words of messages bring in which were stored before those were found.
    fn late_skills(&self) -> Option<Draft> {
        let stock = self.shelf.stock();
        let mut already = self.state.activated_skills.clone();
        let (mut names, mut texts) = (Vec::new(), Vec::new());
        for said in &self.state.unhooked {
            let mut late = stock.skills.triggered_by(&said.text, &already);
            late.retain(|injection| !said.skills.contains(&injection.skill));
            let (new, more) = names_and_texts(late);
            already.extend(new.iter().cloned());
            names.extend(new);
            texts.extend(more);
        }
        let are_there = !texts.is_empty();
        let brought_in = MessageEvent {
            activated_skills: names,
            ..MessageEvent::new(Message::new(Role::User, texts))
        };
        are_there.then(|| Draft::new(Source::Environment, brought_in))
    }
}

/// What came of a task that may have panicked.
pub(super) fn flat<T>(ended: Result<Result<T, String>, JoinError>) -> Result<T, String> {
    ended.unwrap_or_else(|error| Err(error.to_string()))
}
