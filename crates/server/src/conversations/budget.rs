//! What a conversation may use, as clients set it and add to it.

use std::time::Duration;

use deft_engine::{Budget, Limits};
use deft_types::{EventId, Money, Tokens};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Conversations;
use super::loading::limits;
use crate::catalog::{Described, field};
use crate::failure::Failure;
use crate::resident::Resident;

/// The limits of a conversation; none where nobody has set one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BudgetLimits {
    cost: Option<Money>,
    tokens: Option<Tokens>,
    /// Of one run.
    seconds: Option<u64>,
    agents: Option<u32>,
    depth: Option<u32>,
}

impl Described {
    /// What it may use, as far as clients have said.
    pub(crate) fn limits(&self) -> Limits {
        let set = self.budget_limits();
        let usual = Limits::default();
        Limits {
            max_cost: set.cost,
            max_tokens: set.tokens,
            max_time: set.seconds.map(Duration::from_secs),
            max_agents: set.agents.or(usual.max_agents),
            max_depth: set.depth.or(usual.max_depth),
            ..usual
        }
    }

    fn budget_limits(&self) -> BudgetLimits {
        BudgetLimits::deserialize(&self.settings[field::BUDGET]).unwrap_or_default()
    }
}

impl Conversations {
    /// The limits, what was added to them, and what was used.
    pub(crate) async fn budget(&self, resident: &Resident) -> Result<Value, Failure> {
        let described = self.catalog.get(resident.id).await?;
        // Whoever only looks loads nothing.
        let state = match resident.engine.get() {
            Some(running) => self.checked(resident, running.conversation.inspect().await)?,
            None => deft_engine::load(self.catalog.store.as_ref(), resident.id).await?,
        };
        let used = json!({"cost": state.stats.total_cost(), "tokens": state.stats.total_tokens()});
        Ok(json!({"limits": described.budget_limits(), "added": state.added, "used": used}))
    }

    /// Sets the limits.
    pub(crate) async fn set_budget(&self, resident: &Resident, set: &BudgetLimits) -> Result<(), Failure> {
        self.catalog.note(resident.id, field::BUDGET, json!(set)).await?;
        let described = self.catalog.get(resident.id).await?;
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.set_limits(limits(&described)).await)
    }

    /// Adds to them.
    pub(crate) async fn add_budget(
        &self,
        resident: &Resident,
        id: EventId,
        more: Budget,
    ) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.add_budget(id, more).await)
    }
}
