//! Commands that need not be asked for again.

use deft_risk::{AllowRule, Site};
use deft_types::{ActionEvent, Extra, SecurityAnalyzer, SecurityRisk, Source};
use serde_json::json;

use super::Actor;
use crate::above::Above;
use crate::allow_rules::{AllowScope, Allowed, MAX_RULES, cover, listed};
use crate::command::CommandError;
use crate::risk;
use crate::state::{self, key};
use crate::turn::Draft;

impl Actor {
    /// Whether a person has allowed an action before. What the rails hold for a catastrophe is asked for all the same.
    pub(super) fn is_allowed(&self, action: &ActionEvent, site: Site<'_>) -> bool {
        let above = self.above.as_ref().map(Above::allow_rules).unwrap_or_default();
        let own = self.state.allow_rules.iter().chain(&self.project_rules.rules);
        cover(own.chain(&above), action, site) && {
            let rails = SecurityAnalyzer::PolicyRail(Extra::new());
            risk::judge(&rails, action, site, None).risk < SecurityRisk::High
        }
    }

    /// Lets commands that begin so run without asking, from the next reply on.
    pub(super) async fn allow(&mut self, rule: &AllowRule, scope: AllowScope) -> Result<(), CommandError> {
        let rule = rule.as_str().to_owned();
        let add = |rules: &mut Vec<String>| {
            if !rules.contains(&rule) {
                rules.push(rule.clone());
            }
        };
        match scope {
            AllowScope::Project => {
                self.project_rules.change(self.store.as_ref(), add).await?;
                self.tell_project_rules().await?;
            }
            AllowScope::Conversation => {
                let mut rules = self.state.allow_rules.clone();
                add(&mut rules);
                if rules.len() > MAX_RULES {
                    return Err(CommandError::TooManyRules(MAX_RULES));
                }
                self.keep_rules(rules).await?;
            }
        }
        Ok(())
    }

    /// Takes a rule back, wherever it reached; whether there was one.
    pub(super) async fn disallow(&mut self, rule: &str) -> Result<bool, CommandError> {
        self.project_rules.reload(self.store.as_ref()).await?;
        let before = self.allowed().len();
        if self.project_rules.rules.iter().any(|other| other == rule) {
            let remove = |rules: &mut Vec<String>| rules.retain(|other| other != rule);
            self.project_rules.change(self.store.as_ref(), remove).await?;
            self.tell_project_rules().await?;
        }
        let mut rules = self.state.allow_rules.clone();
        rules.retain(|other| other != rule);
        self.keep_rules(rules).await?;
        Ok(self.allowed().len() < before)
    }

    pub(super) fn allowed(&self) -> Vec<Allowed> {
        listed(&self.state.allow_rules, &self.project_rules.rules)
    }

    /// Notes which rules count in all of the project now. The log only tells of it: other conversations change them too.
    async fn tell_project_rules(&mut self) -> Result<(), CommandError> {
        let told = state::update(key::PROJECT_RULES, json!(self.project_rules.rules));
        Ok(self.record(vec![Draft::new(Source::Environment, told)]).await?)
    }

    async fn keep_rules(&mut self, rules: Vec<String>) -> Result<(), CommandError> {
        if rules == self.state.allow_rules {
            return Ok(());
        }
        let told = state::update(key::ALLOW_RULES, json!(rules));
        self.record(vec![Draft::new(Source::Environment, told)]).await?;
        self.hand_down();
        Ok(())
    }
}
