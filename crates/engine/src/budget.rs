//! What a conversation and the agents below it may use, and what is left of it. `purse.rs` makes a tree of that.

mod purse;

use std::fmt;

use deft_types::{EventId, Money, Tokens};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::command::{Command, CommandError};
use crate::conversation::Conversation;

pub(crate) use self::purse::KeptForCall;
pub use self::purse::Purse;

/// So much more may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// US dollars.
    pub cost: Money,
    /// Tokens, of prompts and replies together.
    pub tokens: Tokens,
    /// Seconds of a run.
    pub seconds: u64,
    /// Model calls of a run.
    pub steps: u32,
    /// Agents with tasks of their own.
    pub agents: u32,
    /// Levels of such agents, one below the other.
    pub depth: u32,
}

impl Budget {
    /// Both together.
    #[must_use]
    pub(crate) fn plus(self, more: Self) -> Self {
        Self {
            cost: self.cost + more.cost,
            tokens: self.tokens + more.tokens,
            seconds: self.seconds.saturating_add(more.seconds),
            steps: self.steps.saturating_add(more.steps),
            agents: self.agents.saturating_add(more.agents),
            depth: self.depth.saturating_add(more.depth),
        }
    }
}

impl Conversation {
    /// Lets it use so much more than its limits say. The same id again changes nothing.
    pub async fn add_budget(&self, id: EventId, more: Budget) -> Result<(), CommandError> {
        self.ask(|done| Command::AddBudget { id, more, done }).await?
    }
}

/// What has run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Steps,
    Cost,
    Tokens,
    Time,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Steps => "steps",
            Self::Cost => "money",
            Self::Tokens => "tokens",
            Self::Time => "time",
        })
    }
}

/// Where a limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// By the conversation itself.
    Here(Limit),
    /// By one above it.
    Above(Limit),
}

/// Why no agent can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoAgent {
    #[error("as many agents as may were started")]
    Number,
    #[error("there are as many levels of agents above as may be")]
    Depth,
}

/// What is left; `None` where there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Left {
    pub(crate) cost: Option<Money>,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) until: Option<Instant>,
    pub(crate) steps: Option<u32>,
    pub(crate) agents: Option<u32>,
    /// Levels of agents below.
    pub(crate) depth: Option<u32>,
}

impl Left {
    fn reached(&self, now: Instant) -> Option<Limit> {
        if self.steps == Some(0) {
            return Some(Limit::Steps);
        }
        let spent = self.spent();
        spent.or_else(|| {
            self.until
                .is_some_and(|until| until <= now)
                .then_some(Limit::Time)
        })
    }

    /// What is left after something was used.
    fn after(self, used: Used) -> Self {
        Self {
            cost: self.cost.map(|left| (left - used.cost).max(Money::ZERO)),
            tokens: self
                .tokens
                .map(|left| Tokens(left.0.saturating_sub(used.tokens.0))),
            ..self
        }
    }

    /// What there is no more of to pay a call with.
    fn spent(&self) -> Option<Limit> {
        self.spent_after(Money::ZERO, Tokens::ZERO)
    }

    fn spent_after(&self, cost: Money, tokens: Tokens) -> Option<Limit> {
        if self.cost.is_some_and(|left| left <= cost) {
            return Some(Limit::Cost);
        }
        self.tokens
            .is_some_and(|left| left <= tokens)
            .then_some(Limit::Tokens)
    }
}

/// Money and tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) cost: Money,
    pub(crate) tokens: Tokens,
}

impl Used {
    fn and(self, more: Self) -> Self {
        Self {
            cost: self.cost + more.cost,
            tokens: self.tokens + more.tokens,
        }
    }

    pub(crate) fn less(self, others: Self) -> Self {
        Self {
            cost: (self.cost - others.cost).max(Money::ZERO),
            tokens: Tokens(self.tokens.0.saturating_sub(others.tokens.0)),
        }
    }
}
