//! What a conversation took so far.

use deft_types::{Money, Stats, TokenUsage, Tokens};

/// `· 12 steps · 4.3k in (62 % cached), 512 out tokens · $0.0012`
pub(crate) fn spent_line(steps: u64, stats: &Stats) -> String {
    let total = |tokens: fn(&TokenUsage) -> Tokens| {
        let used = stats
            .usage_to_metrics
            .values()
            .filter_map(|metrics| metrics.accumulated_token_usage.as_ref());
        used.map(tokens).fold(Tokens::ZERO, |sum, tokens| sum + tokens)
    };
    let plural = if steps == 1 { "" } else { "s" };
    let (input, output) = (
        total(|usage| usage.prompt_tokens),
        total(|usage| usage.completion_tokens),
    );
    let cached = match total(|usage| usage.cache_read_tokens) {
        Tokens::ZERO => String::new(),
        cached => format!(" ({} % cached)", cached.0 * 100 / input.0.max(1)),
    };
    let cost = match (stats.total_cost(), stats.cost_unknown()) {
        (cost, false) => cost.to_string(),
        (Money::ZERO, true) => "cost unknown".to_owned(),
        (cost, true) => format!("{cost} and more, cost unknown"),
    };
    format!("· {steps} step{plural} · {input} in{cached}, {output} out tokens · {cost}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_uses_of_models_are_added_up() {
        let stats: Stats = serde_json::from_value(json!({"usage_to_metrics": {
            "agent": {"accumulated_cost": 0.001, "accumulated_token_usage": {"prompt_tokens": 4000, "completion_tokens": 500}},
            "condenser": {"accumulated_cost": 0.0002, "accumulated_token_usage": {"prompt_tokens": 300, "completion_tokens": 12}},
            "unused": {},
        }}))
        .unwrap();
        assert_eq!(
            spent_line(12, &stats),
            "· 12 steps · 4.3k in, 512 out tokens · $0.0012"
        );
        let cached = json!({"usage_to_metrics": {
            "agent": {"accumulated_token_usage": {"prompt_tokens": 1000, "cache_read_tokens": 620}},
        }});
        let cached: Stats = serde_json::from_value(cached).unwrap();
        assert_eq!(
            spent_line(2, &cached),
            "· 2 steps · 1.0k in (62 % cached), 0 out tokens · $0.00"
        );
        assert_eq!(
            spent_line(1, &Stats::default()),
            "· 1 step · 0 in, 0 out tokens · $0.00"
        );
    }

    #[test]
    fn an_unknown_price_is_said_and_not_shown_as_zero() {
        let line = |cost: f64| {
            let stats = json!({"usage_to_metrics": {
                "agent": {"accumulated_cost": cost, "cost_unknown": true},
            }});
            spent_line(1, &serde_json::from_value(stats).unwrap())
        };
        assert!(line(0.0).ends_with(" · cost unknown"), "{}", line(0.0));
        assert!(
            line(0.25).ends_with(" · $0.25 and more, cost unknown"),
            "{}",
            line(0.25)
        );
    }
}
