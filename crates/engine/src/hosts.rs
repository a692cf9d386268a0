//! Hosts that programs of the workspace want to reach and no rule names: who is asked, and what was answered.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deft_workspace::egress::{AskedHost, HostNews, HostQuestions, HostVerdict};
use serde::{Deserialize, Serialize};

use crate::allow_rules::ProjectRules;

/// Hosts whose refusal is remembered for the rest of a run.
const MAX_REFUSED: usize = 200;

/// Whether somebody is there who is shown questions and can answer them. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Attendance(Arc<AtomicUsize>);

/// Somebody who is there until this is dropped.
#[derive(Debug)]
pub struct Attendant(Attendance);

impl Attendance {
    /// Somebody comes.
    pub fn attend(&self) -> Attendant {
        self.0.fetch_add(1, Ordering::Relaxed);
        Attendant(self.clone())
    }

    pub(crate) fn is_attended(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a person decides about a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostAnswer {
    /// The requests that wait may reach it.
    Once,
    /// It may be reached in this conversation.
    Conversation,
    /// It may be reached in every conversation in the same workspace.
    Project,
    /// It may not, for the rest of the run.
    Deny,
}

/// Where the questions of a conversation come in.
pub(crate) struct HostDesk {
    pub(crate) attendance: Attendance,
    /// The hosts that were allowed in the whole project.
    pub(crate) project: ProjectRules,
    /// The way to the proxy, while there is one.
    pub(crate) questions: Option<HostQuestions>,
    refused: HashMap<AskedHost, HostVerdict>,
}

impl HostDesk {
    pub(crate) fn new(attendance: Attendance, project: ProjectRules) -> Self {
        Self {
            attendance,
            project,
            questions: None,
            refused: HashMap::new(),
        }
    }

    /// Waits for news, for ever where nobody asks; none when the proxy is gone.
    pub(crate) async fn next(&mut self) -> Option<HostNews> {
        match &mut self.questions {
            Some(questions) => questions.next().await,
            None => std::future::pending().await,
        }
    }

    pub(crate) async fn answer(&mut self, asked: AskedHost, verdict: HostVerdict) {
        if let Some(questions) = &mut self.questions
            && let Err(error) = questions.answer(asked, verdict).await
        {
            tracing::debug!(%error, "the proxy has gone"); // and the request with it
        }
    }

    /// Does not ask for it again in this run.
    pub(crate) fn refuse(&mut self, asked: AskedHost, verdict: HostVerdict) {
        if self.refused.len() < MAX_REFUSED {
            self.refused.insert(asked, verdict);
        }
    }

    pub(crate) fn refused(&self, asked: &AskedHost) -> Option<HostVerdict> {
        self.refused.get(asked).copied()
    }

    /// A new run may ask for everything again.
    pub(crate) fn begin_run(&mut self) {
        self.refused.clear();
    }
}
