//! Hosts that programs of a workspace want to reach and no rule names: who is asked, and what was answered.
//!
//! A conversation answers for all agents that it gave tasks to, however far below: nobody else is looked at.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deft_workspace::egress::{AskedHost, HostNews, HostQuestions, HostVerdict};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

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

/// Where the questions of a conversation come in, with those of all that it gave tasks to.
pub(crate) struct HostDesk {
    pub(crate) attendance: Attendance,
    /// The hosts that were allowed in the whole project.
    pub(crate) project: ProjectRules,
    /// Proxies that are new; none where the conversation has a task, and another one answers.
    arriving: Option<mpsc::Receiver<HostQuestions>>,
    proxies: Vec<Proxy>,
    refused: HashMap<AskedHost, HostVerdict>,
}

/// The proxy of one workspace.
struct Proxy {
    questions: HostQuestions,
    /// What it waits for.
    open: Vec<AskedHost>,
}

/// What happened at the desk.
pub(crate) enum DeskNews {
    /// A proxy came, or one has gone: other questions are open.
    Changed,
    /// A proxy, by its place, said something.
    Said(usize, HostNews),
}

impl HostDesk {
    pub(crate) fn new(
        attendance: Attendance,
        project: ProjectRules,
        arriving: Option<mpsc::Receiver<HostQuestions>>,
    ) -> Self {
        Self {
            attendance,
            project,
            arriving,
            proxies: Vec::new(),
            refused: HashMap::new(),
        }
    }

    /// Waits for news, for ever where nobody asks. Losing interest meanwhile loses nothing.
    pub(crate) async fn next(&mut self) -> DeskNews {
        let arrived = async {
            match &mut self.arriving {
                Some(arriving) => arriving.recv().await,
                None => None,
            }
        };
        let proxies = self.proxies.iter_mut().enumerate();
        let mut said: FuturesUnordered<_> = proxies
            .map(|(place, proxy)| async move { (place, proxy.questions.next().await) })
            .collect();
        let (place, news) = tokio::select! {
            Some(questions) = arrived => {
                drop(said);
                self.proxies.push(Proxy { questions, open: Vec::new() });
                return DeskNews::Changed;
            }
            Some(said) = said.next() => said,
            else => std::future::pending().await,
        };
        drop(said);
        let Some(news) = news else {
            self.proxies.remove(place);
            return DeskNews::Changed;
        };
        DeskNews::Said(place, news)
    }

    /// A proxy waits for a host.
    pub(crate) fn put(&mut self, place: usize, asked: AskedHost) {
        self.proxies[place].open.push(asked);
    }

    /// It waits no longer.
    pub(crate) fn withdraw(&mut self, place: usize, asked: &AskedHost) {
        self.proxies[place].open.retain(|other| other != asked);
    }

    /// Every host that somebody waits for, once.
    pub(crate) fn open(&self) -> Vec<AskedHost> {
        let mut open: Vec<AskedHost> = Vec::new();
        for asked in self.proxies.iter().flat_map(|proxy| &proxy.open) {
            if !open.contains(asked) {
                open.push(asked.clone());
            }
        }
        open
    }

    /// Answers one proxy, which has just asked.
    pub(crate) async fn answer(&mut self, place: usize, asked: AskedHost, verdict: HostVerdict) {
        if let Err(error) = self.proxies[place].questions.answer(asked, verdict).await {
            tracing::debug!(%error, "the proxy has gone"); // and the request with it
        }
    }

    /// Answers all who wait for a host.
    pub(crate) async fn answer_all(&mut self, asked: &AskedHost, verdict: HostVerdict) {
        for place in 0..self.proxies.len() {
            if self.proxies[place].open.contains(asked) {
                self.withdraw(place, asked);
                self.answer(place, asked.clone(), verdict).await;
            }
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
