//! Who judges actions, and which of them wait for a person's word.

use serde::{Deserialize, Serialize};

use crate::status::SecurityRisk;
use crate::tagged::Extra;

/// Which actions wait for a person's word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum ConfirmationPolicy {
    /// None.
    #[default]
    NeverConfirm,
    /// All.
    AlwaysConfirm,
    /// Those that are held to be dangerous.
    ConfirmRisky {
        /// From this risk on.
        #[serde(default = "high")]
        threshold: SecurityRisk,
        /// Whether to ask as well when nobody can tell.
        #[serde(default = "yes")]
        confirm_unknown: bool,
    },
}

impl ConfirmationPolicy {
    /// Whether an action of this risk waits.
    pub fn asks_for(&self, risk: SecurityRisk) -> bool {
        match self {
            Self::NeverConfirm => false,
            Self::AlwaysConfirm => true,
            Self::ConfirmRisky { confirm_unknown, .. } if risk == SecurityRisk::Unknown => *confirm_unknown,
            Self::ConfirmRisky { threshold, .. } => risk >= *threshold,
        }
    }

    /// Its kind on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NeverConfirm => "NeverConfirm",
            Self::AlwaysConfirm => "AlwaysConfirm",
            Self::ConfirmRisky { .. } => "ConfirmRisky",
        }
    }
}

/// Who judges actions before they run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum SecurityAnalyzer {
    /// The model that wants the action says itself how risky it is.
    #[serde(rename = "LLMSecurityAnalyzer")]
    Model,
    /// Local rules on what would run and on what is said about it.
    #[serde(rename = "PatternSecurityAnalyzer")]
    Pattern(Extra),
    /// Local rules on what nobody ever wants.
    #[serde(rename = "PolicyRailSecurityAnalyzer")]
    PolicyRail(Extra),
    /// Another model judges.
    #[serde(rename = "ToolShieldLLMSecurityAnalyzer")]
    Judge(Extra),
    /// A service elsewhere judges.
    #[serde(rename = "GraySwanAnalyzer")]
    Monitor(Extra),
    /// Several; the highest risk counts.
    #[serde(rename = "EnsembleSecurityAnalyzer")]
    Ensemble {
        /// The others.
        analyzers: Vec<SecurityAnalyzer>,
        /// Whether the result is unknown when one of them cannot tell.
        #[serde(default)]
        propagate_unknown: bool,
    },
}

impl SecurityAnalyzer {
    /// Its kind on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Model => "LLMSecurityAnalyzer",
            Self::Pattern(_) => "PatternSecurityAnalyzer",
            Self::PolicyRail(_) => "PolicyRailSecurityAnalyzer",
            Self::Judge(_) => "ToolShieldLLMSecurityAnalyzer",
            Self::Monitor(_) => "GraySwanAnalyzer",
            Self::Ensemble { .. } => "EnsembleSecurityAnalyzer",
        }
    }
}

fn high() -> SecurityRisk {
    SecurityRisk::High
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_risky_policy_asks_from_its_threshold_on_and_when_nobody_can_tell() {
        use SecurityRisk::{High, Low, Medium, Unknown};
        let asked = |policy: &str| {
            let policy: ConfirmationPolicy = serde_json::from_str(policy).unwrap();
            [Unknown, Low, Medium, High].map(|risk| policy.asks_for(risk))
        };
        assert_eq!(asked(r#"{"kind":"NeverConfirm"}"#), [false; 4]);
        assert_eq!(asked(r#"{"kind":"AlwaysConfirm"}"#), [true; 4]);
        assert_eq!(asked(r#"{"kind":"ConfirmRisky"}"#), [true, false, false, true]);
        let medium = r#"{"kind":"ConfirmRisky","threshold":"MEDIUM","confirm_unknown":false}"#;
        assert_eq!(asked(medium), [false, false, true, true]);
    }

    #[test]
    fn analyzers_keep_their_fields() {
        for json in [
            r#"{"kind":"LLMSecurityAnalyzer"}"#,
            r#"{"kind":"PatternSecurityAnalyzer","enabled":true}"#,
            r#"{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"LLMSecurityAnalyzer"}],"propagate_unknown":true}"#,
        ] {
            let analyzer: SecurityAnalyzer = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&analyzer).unwrap(), json);
        }
    }
}
