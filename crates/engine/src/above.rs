//! What an agent with a task has from the conversation that gave it: a share of its budget, what must be asked for there,
//! its secrets and its hooks, and who answers for hosts. Nobody gets round a rule by giving a task.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use deft_llm::Model;
use deft_risk::Site;
use deft_types::ActionEvent;
use deft_workspace::egress::HostQuestions;
use tokio::sync::mpsc;

use crate::budget::Purse;
use crate::conversation::{Parts, Safety};
use crate::hooks::HookConfig;
use crate::risk::{self, Verdict};
use crate::secret_lookup::SecretSources;

/// Workspaces whose questions wait for whoever answers to hear them.
const MAX_ARRIVING: usize = 64;

/// A conversation as those see it that it gives tasks to. Cheap to clone; it is always up to date.
#[derive(Clone, Default)]
pub struct Above(Arc<Level>);

#[derive(Default)]
struct Level {
    purse: Purse,
    handed: RwLock<Handed>,
    /// To whoever answers for hosts that no rule names: the highest of all.
    questions: Option<mpsc::Sender<HostQuestions>>,
    above: Option<Above>,
}

/// What a conversation hands down.
#[derive(Clone, Default)]
pub(crate) struct Handed {
    /// Which actions wait there, and who judges them.
    pub(crate) safety: Safety,
    /// What need not be asked for there.
    pub(crate) allow_rules: Vec<String>,
    /// Who judges there.
    pub(crate) judge: Option<Arc<dyn Model>>,
    pub(crate) secrets: SecretSources,
    /// What the secrets are called and are for.
    pub(crate) described_secrets: Vec<(String, Option<String>)>,
    pub(crate) hooks: HookConfig,
}

impl Above {
    /// One that is itself below another, where there is one, or draws on what several have together. Where there is
    /// none above, questions for hosts arrive at what is given back.
    pub(crate) fn below(
        above: Option<Self>,
        shared: Option<Purse>,
    ) -> (Self, Option<mpsc::Receiver<HostQuestions>>) {
        let purse = above.as_ref().map(|above| above.0.purse.clone());
        let (questions, arriving) = if let Some(above) = &above {
            (above.0.questions.clone(), None)
        } else {
            let (questions, arriving) = mpsc::channel(MAX_ARRIVING);
            (Some(questions), Some(arriving))
        };
        let level = Level {
            purse: Purse::below(purse.or(shared)),
            handed: RwLock::default(),
            questions,
            above,
        };
        (Self(Arc::new(level)), arriving)
    }

    /// Lets whoever answers hear the questions of a workspace.
    pub(crate) fn bring(&self, questions: HostQuestions) {
        if let Some(answering) = &self.0.questions {
            let _ = answering.try_send(questions); // gone, or not to be reached: dropping them refuses what they ask for
        }
    }

    pub(crate) fn purse(&self) -> &Purse {
        &self.0.purse
    }

    pub(crate) fn hand_down(&self, handed: Handed) {
        *self.0.handed.write().unwrap_or_else(PoisonError::into_inner) = handed;
    }

    /// Gives a conversation what it has from this one, beside what it has already.
    pub(crate) fn fit_out(&self, parts: &mut Parts) {
        let handed = self.handed();
        parts.outfit.secrets.add(&handed.secrets);
        let told = &mut parts.extensions.brief.secrets;
        for secret in &handed.described_secrets {
            if !told.iter().any(|(name, _)| *name == secret.0) {
                told.push(secret.clone());
            }
        }
        let own = std::mem::take(&mut parts.extensions.hooks);
        parts.extensions.hooks = handed.hooks.clone().and_new(own);
        if parts.supervision.judge.is_none() {
            parts.supervision.judge.clone_from(&handed.judge);
        }
    }

    /// Its secrets as they are now, and those further up.
    pub(crate) fn secrets(&self) -> SecretSources {
        let own = self.handed().secrets.clone();
        let Some(above) = &self.0.above else {
            return own;
        };
        let mut secrets = above.secrets();
        secrets.add(&own);
        secrets
    }

    /// Whether an action would have had to wait here or further above.
    pub(crate) fn asks_for(&self, action: &ActionEvent, site: Site<'_>, judged: Option<&Verdict>) -> bool {
        let asks_here = {
            let safety = &self.handed().safety;
            let verdict = risk::verdict(safety.analyzer.as_ref(), action, site, judged);
            safety.policy.asks_for(verdict.risk)
        };
        let above = self.0.above.as_ref();
        asks_here || above.is_some_and(|above| above.asks_for(action, site, judged))
    }

    /// Whether anybody judges actions here or further above.
    pub(crate) fn judges(&self) -> bool {
        let here = self.handed().safety.analyzer.is_some();
        here || self.0.above.as_ref().is_some_and(Self::judges)
    }

    /// Whether another model is asked about actions here or further above.
    pub(crate) fn asks_judge(&self) -> bool {
        let here = self
            .handed()
            .safety
            .analyzer
            .as_ref()
            .is_some_and(risk::asks_judge);
        here || self.0.above.as_ref().is_some_and(Self::asks_judge)
    }

    /// Whether a service elsewhere is to judge there, or further up.
    pub(crate) fn asks_monitor(&self) -> bool {
        let here = self
            .handed()
            .safety
            .analyzer
            .as_ref()
            .is_some_and(risk::asks_monitor);
        here || self.0.above.as_ref().is_some_and(Self::asks_monitor)
    }

    /// What need not be asked for here, nor further above.
    pub(crate) fn allow_rules(&self) -> Vec<String> {
        let mut rules = self.handed().allow_rules.clone();
        rules.extend(self.0.above.iter().flat_map(Self::allow_rules));
        rules
    }

    fn handed(&self) -> RwLockReadGuard<'_, Handed> {
        self.0.handed.read().unwrap_or_else(PoisonError::into_inner)
    }
}
