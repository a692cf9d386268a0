//! Asks whoever is there for hosts that no rule names.

use deft_store::StoreError;
use deft_types::Source;
use deft_workspace::egress::{AskedHost, HostNews, HostVerdict};
use serde_json::json;

use super::Actor;
use crate::above::Above;
use crate::allow_rules::MAX_RULES;
use crate::command::CommandError;
use crate::hosts::HostAnswer;
use crate::state::{self, key};
use crate::turn::Draft;

impl Actor {
    /// The executor was reached: from now on its proxy asks here.
    pub(super) async fn hear_questions(&mut self) -> Result<(), StoreError> {
        self.hosts.questions = self.workspace.host_questions().await;
        self.keep_questions(Vec::new()).await // those of before were refused
    }

    pub(super) async fn take_host_news(&mut self, news: Option<HostNews>) -> Result<(), StoreError> {
        let Some(news) = news else {
            self.hosts.questions = None;
            return self.keep_questions(Vec::new()).await;
        };
        let mut questions = self.state.host_questions.clone();
        match news {
            HostNews::Asked(asked) => match self.verdict_on(&asked) {
                Some(verdict) => {
                    self.hosts.answer(asked, verdict).await;
                    return Ok(());
                }
                None => questions.push(asked),
            },
            HostNews::Withdrawn(asked) => questions.retain(|other| *other != asked),
            HostNews::Expired(asked) => {
                questions.retain(|other| *other != asked);
                self.hosts.refuse(asked, HostVerdict::NobodyThere);
            }
        }
        self.keep_questions(questions).await
    }

    /// What is known about a host without asking anybody.
    fn verdict_on(&self, asked: &AskedHost) -> Option<HostVerdict> {
        let name = asked.to_string();
        let above = self.above.as_ref().map(Above::allowed_hosts).unwrap_or_default();
        let own = self.state.allowed_hosts.iter().chain(&self.hosts.project.rules);
        if own.chain(&above).any(|allowed| *allowed == name) {
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
        let mut questions = self.state.host_questions.clone();
        let before = questions.len();
        questions.retain(|other| *other != asked);
        if questions.len() == before {
            return Err(CommandError::NotAsked(asked.to_string()));
        }
        let name = asked.to_string();
        match answer {
            HostAnswer::Once => {}
            HostAnswer::Deny => self.hosts.refuse(asked.clone(), HostVerdict::Deny),
            HostAnswer::Conversation => {
                let mut allowed = self.state.allowed_hosts.clone();
                if allowed.len() >= MAX_RULES {
                    return Err(CommandError::TooManyRules(MAX_RULES));
                }
                allowed.push(name);
                let told = state::update(key::ALLOWED_HOSTS, json!(allowed));
                self.record(vec![Draft::new(Source::Environment, told)]).await?;
                self.hand_down();
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
        self.keep_questions(questions).await?;
        self.hosts.answer(asked, verdict).await;
        Ok(())
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
