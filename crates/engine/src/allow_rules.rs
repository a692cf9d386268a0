//! Commands that a person has allowed once and for all: in one conversation, or in all of a project.

use deft_risk::{AllowRule, Site, allows};
use deft_store::{Store, StoreError};
use deft_types::{ActionEvent, ConversationId};
use serde::{Deserialize, Serialize};

use crate::command::CommandError;
use crate::conversation::load;

/// How often a change is tried again when another was faster.
const MAX_TRIES: usize = 16;
/// Rules of one project or conversation.
pub(crate) const MAX_RULES: usize = 200;
/// Where the commands and hosts that were allowed in projects are kept, before the project's name.
pub(crate) const COMMANDS: &str = "allow-rules/";
pub(crate) const HOSTS: &str = "allowed-hosts/";

/// How far a rule reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowScope {
    /// The conversation that it was made in.
    #[default]
    Conversation,
    /// Every conversation in the same workspace.
    Project,
}

/// What a person has allowed, and how far that reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Allowed {
    /// The beginning of the commands that may run, such as `git commit`, or a host with its port.
    pub rule: String,
    /// How far it reaches.
    pub scope: AllowScope,
}

/// The rules that count in a conversation, without a need to load it.
pub async fn allow_rules(store: &dyn Store, id: ConversationId) -> Result<Vec<Allowed>, StoreError> {
    let state = load(store, id).await?;
    let project = ProjectRules::load(store, id, COMMANDS).await?;
    Ok(listed(&state.allow_rules, &project.rules))
}

/// The hosts that were allowed in a conversation or its project, with their ports, without a need to load it.
pub async fn allowed_hosts(store: &dyn Store, id: ConversationId) -> Result<Vec<Allowed>, StoreError> {
    let state = load(store, id).await?;
    let project = ProjectRules::load(store, id, HOSTS).await?;
    Ok(listed(&state.allowed_hosts, &project.rules))
}

pub(crate) fn listed(conversation: &[String], project: &[String]) -> Vec<Allowed> {
    let with = |scope| {
        move |rule: &String| Allowed {
            rule: rule.clone(),
            scope,
        }
    };
    let own = conversation.iter().map(with(AllowScope::Conversation));
    own.chain(project.iter().map(with(AllowScope::Project))).collect()
}

/// Whether rules cover an action. One that cannot be read any more covers nothing.
pub(crate) fn cover<'a>(
    rules: impl Iterator<Item = &'a String>,
    action: &ActionEvent,
    site: Site<'_>,
) -> bool {
    let rules: Vec<_> = rules.filter_map(|rule| AllowRule::parse(rule).ok()).collect();
    !rules.is_empty() && allows(&rules, action, site)
}

/// The rules of the project that a conversation works in.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProjectRules {
    key: String,
    pub(crate) rules: Vec<String>,
}

impl ProjectRules {
    pub(crate) async fn load(
        store: &dyn Store,
        id: ConversationId,
        folder: &str,
    ) -> Result<Self, StoreError> {
        let record = store.conversation(id).await?;
        let key = format!(
            "{folder}{}",
            record.map(|record| record.workspace).unwrap_or_default()
        );
        let rules = read(store.document(&key).await?.as_deref());
        Ok(Self { key, rules })
    }

    /// Reads them again: other conversations change them too.
    pub(crate) async fn reload(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        self.rules = read(store.document(&self.key).await?.as_deref());
        Ok(())
    }

    /// Changes what is stored, also if another conversation changes it at the same time.
    pub(crate) async fn change(
        &mut self,
        store: &dyn Store,
        edit: impl Fn(&mut Vec<String>),
    ) -> Result<(), CommandError> {
        for _ in 0..MAX_TRIES {
            let before = store.document(&self.key).await?;
            let mut rules = read(before.as_deref());
            let were = rules.len();
            edit(&mut rules);
            if rules.len() > MAX_RULES.max(were) {
                return Err(CommandError::TooManyRules(MAX_RULES));
            }
            let after = (!rules.is_empty()).then(|| serde_json::json!(rules).to_string());
            if store.swap_document(self.key.clone(), before, after).await? {
                self.rules = rules;
                return Ok(());
            }
        }
        Err(CommandError::Interrupted) // others change it without end: the next change of ours may come through
    }
}

fn read(text: Option<&str>) -> Vec<String> {
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}
