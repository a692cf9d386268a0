//! Actions that wait for a person's word.

use std::sync::Arc;

use deft_llm::Model;
use deft_risk::{Site, directory_behind};
use deft_store::StoreError;
use deft_types::{
    Action, ActionEvent, ActionId, ConfirmationPolicy, EventBody, Extra, SecurityAnalysisEvent,
    SecurityAnalyzer, SecurityRisk, Source, UserRejectObservation,
};
use serde_json::json;
use std::collections::{BTreeMap, HashSet};

use super::Actor;
use crate::above::Above;
use crate::command::{Answer, CommandError};
use crate::judge::Judge;
use crate::risk::{self, Verdict};
use crate::state::{self, OpenCall, key};
use crate::status::Trigger;
use crate::turn::{self, Draft};

/// The result of a call that a person changed before it ran.
const EDITED: &str = "The user changed this call before it ran. What ran instead follows.";

impl Actor {
    pub(crate) fn policy(&self) -> &ConfirmationPolicy {
        self.state.policy.as_ref().unwrap_or(&self.safety.policy)
    }

    pub(crate) fn analyzer(&self) -> Option<&SecurityAnalyzer> {
        match &self.state.analyzer {
            Some(changed) => changed.as_ref(),
            None => self.safety.analyzer.as_ref(),
        }
    }

    /// Who else judges the next reply's calls: the model that was named for it, or the agent's own. Where a service is to do
    /// it nobody else can: without it, nobody has judged.
    pub(super) fn judge(&self) -> Option<Judge> {
        let above = self.above.as_ref();
        let asks = self.analyzer().is_some_and(risk::asks_judge);
        let asks_above = above.is_some_and(Above::asks_judge);
        if !asks && !asks_above {
            return None;
        }
        let asks_monitor = self.analyzer().is_some_and(risk::asks_monitor)
            || above.is_some_and(crate::above::Above::asks_monitor);
        let model = if asks_monitor {
            self.monitor.clone()?
        } else {
            self.judging_model()
        };
        let last = self.state.last_user_message_id.as_ref();
        Some(Judge::new(model, self.purse.clone(), &self.state.view, last))
    }

    pub(super) fn judging_model(&self) -> Arc<dyn Model> {
        self.judge_model.clone().unwrap_or_else(|| self.model.clone())
    }

    /// What is to be stored behind a reply's actions: what was thought of them, and that they wait if one of them must.
    /// `judged` is what another model found of each call of the reply, if it was asked.
    pub(crate) fn reviewed(&self, drafts: &mut [Draft], judged: &[Verdict]) -> Vec<Draft> {
        if !self.judges() {
            forget_estimates(drafts);
        }
        let mut judged = judged.iter();
        let mut actions: Vec<(ActionId, &ActionEvent, Option<&Verdict>)> = Vec::new();
        let refused: HashSet<_> = drafts.iter().filter_map(refused_call).collect();
        for draft in drafts.iter_mut() {
            let EventBody::Action(action) = &draft.body else {
                continue;
            };
            let judged = judged.next();
            if action.action.is_some() && !refused.contains(&action.tool_call_id) {
                let id = draft.id.get_or_insert_with(|| self.world.new_id().into());
                actions.push((id.clone(), action, judged));
            }
        }
        let harmless = matches!(actions.as_slice(), [(_, only, _)] if matches!(only.tool_name.as_str(), "finish" | "think"));
        if actions.is_empty() || harmless {
            return Vec::new();
        }
        let (mut verdicts, mut waits) = (Vec::new(), false);
        let mut directory = self.shell_directory();
        let mut actions = actions.into_iter().peekable();
        while let Some((id, action, judged)) = actions.next() {
            let site = self.site(&directory);
            let verdict = self.verdict(action, site, judged);
            waits |= self.asks_for(action, site, &verdict, judged);
            verdicts.push((id, verdict));
            if actions.peek().is_some() {
                directory = behind_command(action, site);
            }
        }
        let mut behind = Vec::new();
        if let Some(analyzer) = self.analyzer() {
            behind.push(Draft::new(
                Source::Environment,
                analysis(analyzer, self.policy(), &verdicts),
            ));
        }
        if waits {
            behind.extend(self.status_after(Trigger::Ask));
        }
        behind
    }

    /// Whether anybody judges actions, here or above.
    fn judges(&self) -> bool {
        self.analyzer().is_some() || self.above.as_ref().is_some_and(Above::judges)
    }

    /// Whether an action must wait for a person's word.
    pub(super) fn must_wait(&self, action: &ActionEvent) -> bool {
        let directory = self.shell_directory();
        let site = self.site(&directory);
        self.asks_for(action, site, &self.verdict(action, site, None), None)
    }

    /// Also what would have had to wait above: to give a task is no way round a policy.
    fn asks_for(
        &self,
        action: &ActionEvent,
        site: Site<'_>,
        verdict: &Verdict,
        judged: Option<&Verdict>,
    ) -> bool {
        let above = self.above.as_ref();
        let asks_above = || above.is_some_and(|above| above.asks_for(action, site, judged));
        (self.policy().asks_for(verdict.risk) || asks_above()) && !self.is_allowed(action, site)
    }

    fn verdict(&self, action: &ActionEvent, site: Site<'_>, judged: Option<&Verdict>) -> Verdict {
        risk::verdict(self.analyzer(), action, site, judged)
    }

    fn site<'a>(&'a self, directory: &'a str) -> Site<'a> {
        Site {
            workspace: &self.directory,
            directory,
        }
    }

    /// Where the agent's shell stands, by the name that we have for the workspace.
    fn shell_directory(&self) -> String {
        let stands = self.state.shell_directory.as_deref();
        let client = self.executor.as_ref();
        let root = client.map_or(self.shelf.stock().workspace.clone(), |client| {
            client.hello().workspace.clone()
        });
        match stands.filter(|_| !root.is_empty()) {
            None => self.directory.clone(),
            Some(stands) => match stands.strip_prefix(root.as_str()) {
                Some(inside) if inside.is_empty() || inside.starts_with('/') => {
                    format!("{}{inside}", self.directory)
                }
                _ => stands.to_owned(),
            },
        }
    }

    /// Carries out what a person decided about the actions that wait. All must be decided about.
    pub(crate) async fn respond(&mut self, answers: Vec<(ActionId, Answer)>) -> Result<(), CommandError> {
        let pending = self.pending();
        let answers: BTreeMap<_, _> = answers.into_iter().collect();
        if let Some(id) = answers
            .keys()
            .find(|id| !pending.iter().any(|call| call.id == **id))
        {
            return Err(CommandError::NotWaiting(id.clone()));
        }
        let (mut drafts, mut rejected, mut unsent) = (Vec::new(), Vec::new(), Vec::new());
        let for_tasks = self.asks_for_tasks();
        let mut goes_on = false;
        for call in &pending {
            match answers.get(&call.id) {
                // Was decided before, and may have run.
                None | Some(Answer::Approve) if for_tasks && call.waiting.is_empty() => goes_on = true,
                None => return Err(CommandError::Undecided(call.id.clone())),
                Some(Answer::Approve) => unsent.push(call.id.clone()),
                Some(Answer::Reject { reason }) => rejected.push(rejection(call, reason.clone())),
                Some(Answer::Edit { arguments }) => {
                    let edited = turn::edited(call, arguments, &self.tools, self.world.as_ref())
                        .map_err(CommandError::BadEdit)?;
                    unsent.extend(edited.id.clone());
                    drafts.push(edited);
                    rejected.push(rejection(call, EDITED.to_owned()));
                }
            }
        }
        // A changed call is stored while its reply still has calls open: it becomes one of them.
        drafts.extend(rejected);
        goes_on |= !unsent.is_empty();
        let trigger = if goes_on { Trigger::Run } else { Trigger::Reject };
        drafts.extend(self.status_after(trigger));
        self.record(drafts).await?;
        if goes_on {
            self.began = tokio::time::Instant::now(); // how long a person thinks is no time of the agent's
        }
        self.unsent.extend(unsent);
        Ok(())
    }

    /// Says no to everything that waits.
    pub(crate) async fn reject(&mut self, reason: String) -> Result<(), StoreError> {
        let mut drafts = Vec::from_iter(self.status_after(Trigger::Reject));
        drafts.extend(self.pending().iter().map(|call| rejection(call, reason.clone())));
        self.record(drafts).await
    }

    fn pending(&self) -> Vec<OpenCall> {
        if self.state.status == deft_types::Status::WaitingForConfirmation {
            self.state.open_calls.clone()
        } else {
            Vec::new()
        }
    }

    pub(crate) async fn set_policy(&mut self, policy: ConfirmationPolicy) -> Result<(), StoreError> {
        if *self.policy() == policy {
            return Ok(());
        }
        let told = state::update(key::POLICY, json!(policy));
        self.record(vec![Draft::new(Source::Environment, told)]).await?;
        self.hand_down();
        Ok(())
    }

    pub(crate) async fn set_analyzer(
        &mut self,
        analyzer: Option<SecurityAnalyzer>,
    ) -> Result<(), StoreError> {
        if self.analyzer() == analyzer.as_ref() {
            return Ok(());
        }
        let told = state::update(key::ANALYZER, json!(analyzer));
        self.record(vec![Draft::new(Source::Environment, told)]).await?;
        self.hand_down();
        Ok(())
    }
}

/// What a model thinks of its own actions counts where somebody judges, and is no verdict where nobody does.
fn forget_estimates(drafts: &mut [Draft]) {
    for draft in drafts {
        if let EventBody::Action(action) = &mut draft.body {
            action.security_risk = SecurityRisk::Unknown;
        }
    }
}

/// Where the shell stands behind an action, as far as that can be told.
fn behind_command(action: &ActionEvent, site: Site<'_>) -> String {
    let behind = match &action.action {
        Some(Action::Terminal(ran)) if ran.reset => None,
        Some(Action::Terminal(ran)) if !ran.is_input => directory_behind(&ran.command, site),
        _ => return site.directory.to_owned(),
    };
    behind.unwrap_or_else(|| site.workspace.to_owned())
}

fn refused_call(draft: &Draft) -> Option<String> {
    match &draft.body {
        EventBody::AgentError(error) => Some(error.tool_call_id.clone()),
        _ => None,
    }
}

fn analysis(
    analyzer: &SecurityAnalyzer,
    policy: &ConfirmationPolicy,
    verdicts: &[(ActionId, Verdict)],
) -> SecurityAnalysisEvent {
    let reason =
        |(id, verdict): &(ActionId, Verdict)| Some((id.to_string(), json!(verdict.reason.as_ref()?)));
    SecurityAnalysisEvent {
        analyzer: analyzer.kind().to_owned(),
        policy: policy.kind().to_owned(),
        risks: verdicts
            .iter()
            .map(|(id, verdict)| (id.clone(), verdict.risk))
            .collect(),
        details: verdicts.iter().filter_map(reason).collect(),
        extra: Extra::new(),
    }
}

fn rejection(call: &OpenCall, reason: String) -> Draft {
    Draft::new(
        Source::Environment,
        UserRejectObservation {
            tool_name: call.event.tool_name.clone(),
            tool_call_id: call.event.tool_call_id.clone(),
            rejection_reason: reason,
            rejection_source: "user".to_owned(),
            action_id: call.id.clone(),
            extra: Extra::new(),
        },
    )
}
