//! Judges actions before they run.

use deft_risk::{RuleSet, Site};
use deft_types::{ActionEvent, SecurityAnalyzer, SecurityRisk};

/// What somebody thinks of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) risk: SecurityRisk,
    /// Why, where there is more to say than how much.
    pub(crate) reason: Option<String>,
}

/// Whether a service elsewhere is to be asked.
pub(crate) fn asks_monitor(analyzer: &SecurityAnalyzer) -> bool {
    match analyzer {
        SecurityAnalyzer::Monitor(_) => true,
        SecurityAnalyzer::Ensemble { analyzers, .. } => analyzers.iter().any(asks_monitor),
        SecurityAnalyzer::Model
        | SecurityAnalyzer::Pattern(_)
        | SecurityAnalyzer::PolicyRail(_)
        | SecurityAnalyzer::Judge(_) => false,
    }
}

/// Whether another model is to be asked, or a service elsewhere.
pub(crate) fn asks_judge(analyzer: &SecurityAnalyzer) -> bool {
    match analyzer {
        SecurityAnalyzer::Judge(_) | SecurityAnalyzer::Monitor(_) => true,
        SecurityAnalyzer::Ensemble { analyzers, .. } => analyzers.iter().any(asks_judge),
        SecurityAnalyzer::Model | SecurityAnalyzer::Pattern(_) | SecurityAnalyzer::PolicyRail(_) => false,
    }
}

/// What is thought of an action where somebody judges; nothing is known where nobody does.
pub(crate) fn verdict(
    analyzer: Option<&SecurityAnalyzer>,
    action: &ActionEvent,
    site: Site<'_>,
    judged: Option<&Verdict>,
) -> Verdict {
    let unknown = || Verdict {
        risk: SecurityRisk::Unknown,
        reason: None,
    };
    analyzer.map_or_else(unknown, |analyzer| judge(analyzer, action, site, judged))
}

/// Judges an action. Whoever cannot do that counts as having found the worst.
/// `judged` is what another model found, if it was asked.
pub(crate) fn judge(
    analyzer: &SecurityAnalyzer,
    action: &ActionEvent,
    site: Site<'_>,
    judged: Option<&Verdict>,
) -> Verdict {
    let by_rules = |rules: RuleSet| {
        let verdict = rules.assess(action, site);
        Verdict {
            risk: verdict.risk,
            reason: verdict
                .reason
                .map(|reason| format!("{reason} [{}]", verdict.rule)),
        }
    };
    match analyzer {
        SecurityAnalyzer::Model => Verdict {
            risk: action.security_risk,
            reason: None,
        },
        SecurityAnalyzer::Pattern(_) => by_rules(RuleSet::Patterns),
        SecurityAnalyzer::PolicyRail(_) => by_rules(RuleSet::Rails),
        SecurityAnalyzer::Judge(_) | SecurityAnalyzer::Monitor(_) => judged.cloned().unwrap_or(Verdict {
            risk: SecurityRisk::High,
            reason: Some("the judge was not asked".to_owned()),
        }),
        SecurityAnalyzer::Ensemble {
            analyzers,
            propagate_unknown,
        } => {
            let of = |analyzer| judge(analyzer, action, site, judged);
            let verdicts: Vec<_> = analyzers.iter().map(of).collect();
            highest(verdicts, *propagate_unknown)
        }
    }
}

/// The highest risk; not knowing counts less than any other, or more than all but the highest there is: that one analyser
/// does not know hides no danger that another has seen.
fn highest(verdicts: Vec<Verdict>, propagate_unknown: bool) -> Verdict {
    let weight = |verdict: &Verdict| match verdict.risk {
        SecurityRisk::Unknown if propagate_unknown => 3,
        SecurityRisk::Unknown => 0,
        SecurityRisk::Low => 1,
        SecurityRisk::Medium => 2,
        SecurityRisk::High => 4,
    };
    verdicts.into_iter().max_by_key(weight).unwrap_or(Verdict {
        risk: SecurityRisk::Unknown,
        reason: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_see_what_the_model_plays_down() {
        let action: ActionEvent = serde_json::from_value(serde_json::json!({
            "thought": [],
            "action": {"kind": "TerminalAction", "command": "bash -c 'rm -rf /'"},
            "tool_name": "terminal",
            "tool_call_id": "1",
            "tool_call": {"id": "1", "name": "terminal", "arguments": "{}", "origin": "completion"},
            "llm_response_id": "1",
            "security_risk": "LOW",
        }))
        .unwrap();
        let rules = SecurityAnalyzer::PolicyRail(deft_types::Extra::new());
        let both = SecurityAnalyzer::Ensemble {
            analyzers: vec![SecurityAnalyzer::Model, rules],
            propagate_unknown: false,
        };
        let verdict = judge(&both, &action, "/work".into(), None);
        assert_eq!(verdict.risk, SecurityRisk::High);
        assert!(
            verdict
                .reason
                .is_some_and(|reason| reason.ends_with("[catastrophic-delete]"))
        );
        assert_eq!(
            judge(&SecurityAnalyzer::Model, &action, "/work".into(), None).risk,
            SecurityRisk::Low
        );
    }

    #[test]
    fn the_highest_verdict_wins_and_not_knowing_only_when_it_is_to() {
        use SecurityRisk::{High, Low, Medium, Unknown};
        let verdicts = |risks: &[SecurityRisk]| -> Vec<_> {
            let verdict = |risk: &SecurityRisk| Verdict {
                risk: *risk,
                reason: None,
            };
            risks.iter().map(verdict).collect()
        };
        assert_eq!(highest(verdicts(&[Low, High, Unknown]), false).risk, High);
        assert_eq!(highest(verdicts(&[Low, Unknown]), false).risk, Low);
        assert_eq!(highest(verdicts(&[Low, Medium, Unknown]), true).risk, Unknown);
        assert_eq!(highest(verdicts(&[Low, High, Unknown]), true).risk, High);
        assert_eq!(highest(verdicts(&[]), false).risk, Unknown);
    }
}
