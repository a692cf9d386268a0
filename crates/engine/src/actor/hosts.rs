//! Asks whoever is there for hosts that no rule names.

use deft_store::StoreError;
use deft_types::{EventBody, Source};
use deft_workspace::egress::{AskedHost, HostNews, HostVerdict};
use serde::Serialize;
use serde_json::json;

use super::Actor;
use crate::allow_rules::MAX_RULES;
use crate::command::CommandError;
use crate::hosts::{DeskNews, HostAnswer};
use crate::state::{self, key};
use crate::turn::Draft;

impl Actor {
    /// The executor was reached: from now on its proxy asks whoever is looked at, here or above.
    pub(super) async fn hear_questions(&mut self) {
        if let Some(questions) = self.workspace.host_questions().await {
            self.below.bring(questions);
        }
    }

    pub(super) async fn take_host_news(&mut self, news: DeskNews) -> Result<(), StoreError> {
        match news {
            DeskNews::Changed => {}
            DeskNews::Said(place, HostNews::Asked(asked)) => {
                self.hosts.project.reload(self.store.as_ref()).await?;
                match self.verdict_on(&asked) {
                    Some(verdict) => self.hosts.answer(place, asked, verdict).await,
                    None => self.hosts.put(place, asked),
                }
            }
            DeskNews::Said(place, HostNews::Withdrawn(asked)) => self.hosts.withdraw(place, &asked),
            DeskNews::Said(place, HostNews::Expired(asked)) => {
                self.hosts.withdraw(place, &asked);
                self.hosts.refuse(asked, HostVerdict::NobodyThere);
            }
        }
        self.keep_questions(self.hosts.open()).await
    }

    /// What is known about a host without asking anybody.
    fn verdict_on(&self, asked: &AskedHost) -> Option<HostVerdict> {
        let name = asked.to_string();
        let mut allowed = self.state.allowed_hosts.iter().chain(&self.hosts.project.rules);
        if allowed.any(|allowed| *allowed == name) {
            return Some(HostVerdict::Allow);
        }
        let is_attended = self.hosts.attendance.is_attended();
        let nobody = (!is_attended).then_some(HostVerdict::NobodyThere);
        self.hosts.refused(asked).or(nobody)
    }

    /// Carries out what a person decided about a host.
    pub(super) async fn answer_host(
        &mut self,
        asked: AskedHost,
        answer: HostAnswer,
    ) -> Result<(), CommandError> {
        if !self.state.host_questions.contains(&asked) {
            return Err(CommandError::NotAsked(asked.to_string()));
        }
        let name = asked.to_string();
        let mut told = vec![answered(&name, answer)];
        match answer {
            HostAnswer::Once => {}
            HostAnswer::Deny => self.hosts.refuse(asked.clone(), HostVerdict::Deny),
            HostAnswer::Conversation => {
                let mut allowed = self.state.allowed_hosts.clone();
                if allowed.len() >= MAX_RULES {
                    return Err(CommandError::TooManyRules(MAX_RULES));
                }
                allowed.push(name);
                told.push(state::update(key::ALLOWED_HOSTS, json!(allowed)));
            }
            HostAnswer::Project => {
                let add = |hosts: &mut Vec<String>| {
                    if !hosts.contains(&name) {
                        hosts.push(name.clone());
                    }
                };
                self.hosts.project.change(self.store.as_ref(), add).await?;
            }
        }
        let verdict = match answer {
            HostAnswer::Once | HostAnswer::Conversation | HostAnswer::Project => HostVerdict::Allow,
            HostAnswer::Deny => HostVerdict::Deny,
        };
        self.tell_of_hosts(told).await?;
        self.hosts.answer_all(&asked, verdict).await;
        Ok(self.keep_questions(self.hosts.open()).await?)
    }

    /// Asks for a host again, wherever it was allowed; whether it was.
    pub(super) async fn disallow_host(&mut self, host: &str) -> Result<bool, CommandError> {
        self.hosts.project.reload(self.store.as_ref()).await?;
        let in_project = self.hosts.project.rules.iter().any(|other| other == host);
        if in_project {
            let remove = |hosts: &mut Vec<String>| hosts.retain(|other| other != host);
            self.hosts.project.change(self.store.as_ref(), remove).await?;
        }
        let mut allowed = self.state.allowed_hosts.clone();
        allowed.retain(|other| other != host);
        let here = allowed.len() < self.state.allowed_hosts.len();
        if !here && !in_project {
            return Ok(false);
        }
        let told = [
            answered(host, "taken_back"),
            state::update(key::ALLOWED_HOSTS, json!(allowed)),
        ];
        self.tell_of_hosts(told).await?;
        Ok(true)
    }

    async fn tell_of_hosts(&mut self, told: impl IntoIterator<Item = EventBody>) -> Result<(), StoreError> {
        let told = told.into_iter().map(|told| Draft::new(Source::Environment, told));
        self.record(told.collect()).await
    }

    /// Says which questions are open now, if that is news.
    pub(super) async fn keep_questions(&mut self, questions: Vec<AskedHost>) -> Result<(), StoreError> {
        if questions == self.state.host_questions {
            return Ok(());
        }
        let told = state::update(key::HOST_QUESTIONS, json!(questions));
        self.record(vec![Draft::new(Source::Environment, told)]).await
    }
}

/// What a person decided about a host.
fn answered(host: &str, answer: impl Serialize) -> EventBody {
    state::update(key::HOST_ANSWER, json!({"host": host, "answer": answer}))
}
