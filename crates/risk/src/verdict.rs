//! What is thought of an action.

use deft_types::SecurityRisk;

/// How dangerous an action is, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How dangerous.
    pub risk: SecurityRisk,
    /// Why, in a sentence for the person who is asked. There whenever a rule applies.
    pub reason: Option<String>,
    /// The rule that applies; `none` where there is none.
    pub rule: &'static str,
}

/// Whether a rule is for everybody's caution or for what nobody ever wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    Pattern,
    Rail,
}

/// A rule that applies.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) strength: Strength,
}

impl Finding {
    pub(crate) fn new(
        strength: Strength,
        risk: SecurityRisk,
        rule: &'static str,
        reason: impl Into<String>,
    ) -> Self {
        let reason = Some(reason.into());
        Self {
            verdict: Verdict { risk, reason, rule },
            strength,
        }
    }

    pub(crate) fn pattern(risk: SecurityRisk, rule: &'static str, reason: impl Into<String>) -> Self {
        Self::new(Strength::Pattern, risk, rule, reason)
    }

    pub(crate) fn rail(risk: SecurityRisk, rule: &'static str, reason: impl Into<String>) -> Self {
        Self::new(Strength::Rail, risk, rule, reason)
    }
}

impl Verdict {
    pub(crate) fn harmless() -> Self {
        Self {
            risk: SecurityRisk::Low,
            reason: None,
            rule: "none",
        }
    }

    /// The worse of two. Not to know is worse than to know of nothing bad, and better than to know of something.
    pub(crate) fn or_worse(self, other: Self) -> Self {
        let weight = |verdict: &Self| match verdict.risk {
            SecurityRisk::Low => 0,
            SecurityRisk::Unknown => 1,
            SecurityRisk::Medium => 2,
            SecurityRisk::High => 3,
        };
        if weight(&other) > weight(&self) {
            other
        } else {
            self
        }
    }
}
