//! What a conversation took so far.

use deft_types::{Money, Stats, TokenUsage, Tokens};

use super::line::one_line;

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
    let cache = prefix_changes(stats);
    format!("· {steps} step{plural} · {input} in{cached}, {output} out tokens · {cost}{cache}")
}

/// How often the provider's cache helped less than before, and why it last did.
fn prefix_changes(stats: &Stats) -> String {
    let mut noted = stats
        .usage_to_metrics
        .values()
        .filter_map(|metrics| metrics.extra.get("prefix_changes"));
    let Some((noted, count)) = noted.find_map(|noted| Some((noted, noted["count"].as_u64()?))) else {
        return String::new();
    };
    let last = one_line(noted["last"].as_str().unwrap_or_default());
    match count {
        1 => format!(" · cache missed once: {last}"),
        _ => format!(" · cache missed {count} times, last: {last}"),
    }
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
        let missed = |count: u64| {
            let noted = json!({"count": count, "last": "the tools changed"});
            let stats = json!({"usage_to_metrics": {"agent": {"prefix_changes": noted}}});
            spent_line(2, &serde_json::from_value(stats).unwrap())
        };
        assert!(missed(1).ends_with("$0.00 · cache missed once: the tools changed"));
        assert!(missed(3).ends_with("$0.00 · cache missed 3 times, last: the tools changed"));
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
