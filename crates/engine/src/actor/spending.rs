//! What calls to models add to the stats.

use deft_llm::{ModelProfile, PrefixChange, Reply, Spent, Usage};
use deft_types::{Stats, TokenUsage, Tokens};
use serde_json::json;

/// What the agent's model is used for, in the stats.
const USAGE_ID: &str = "agent";
/// The field of the stats that says how often the provider's cache helped less than before, and why.
const PREFIX_CHANGES: &str = "prefix_changes";

/// The stats with a call, attempts that failed and other models included. Of a reply without counts only the cost is
/// unknown; a call that failed without any used nothing.
pub(super) fn add_call(stats: &Stats, profile: &ModelProfile, spent: &Spent, reply: Option<&Reply>) -> Stats {
    let mut stats = stats.clone();
    let uncounted = reply.filter(|_| spent.attempts.is_empty());
    for usage in spent.attempts.iter().chain(uncounted.map(|reply| &reply.usage)) {
        add_usage(&mut stats, USAGE_ID, &profile.name, profile.context_window, usage);
    }
    for other in &spent.others {
        add_usage(&mut stats, &other.usage_id, &other.model, None, &other.usage);
    }
    if let Some(change) = reply.and_then(|reply| reply.prefix_change.as_ref()) {
        add_prefix_change(&mut stats, change);
    }
    stats
}

/// The stats with one use of a model for something else.
pub(super) fn add_reply(stats: &Stats, usage_id: &str, profile: &ModelProfile, reply: &Reply) -> Stats {
    let mut stats = stats.clone();
    let used = Usage {
        cost: reply.cost,
        ..reply.usage
    };
    add_usage(&mut stats, usage_id, &profile.name, profile.context_window, &used);
    stats
}

/// The stats with all that another conversation has spent: it replaces what was counted of that one before.
pub(super) fn add_total(mut stats: Stats, usage_id: &str, spent: &Stats) -> Stats {
    for (use_of, metrics) in &spent.usage_to_metrics {
        let id = if use_of == USAGE_ID {
            usage_id.to_owned()
        } else {
            format!("{usage_id}:{use_of}")
        };
        stats.usage_to_metrics.insert(id, metrics.clone());
    }
    stats
}

fn add_usage(stats: &mut Stats, usage_id: &str, model: &str, window: Option<Tokens>, used: &Usage) {
    let metrics = stats.usage_to_metrics.entry(usage_id.to_owned()).or_default();
    model.clone_into(&mut metrics.model_name);
    match used.cost {
        Some(cost) => metrics.accumulated_cost += cost,
        None => metrics.cost_unknown = true,
    }
    let total = metrics.accumulated_token_usage.get_or_insert_default();
    *total = TokenUsage {
        model: model.to_owned(),
        prompt_tokens: total.prompt_tokens + used.prompt,
        completion_tokens: total.completion_tokens + used.completion,
        cache_read_tokens: total.cache_read_tokens + used.cache_read,
        cache_write_tokens: total.cache_write_tokens + used.cache_write,
        reasoning_tokens: total.reasoning_tokens + used.reasoning,
        context_window: window.unwrap_or(total.context_window),
        per_turn_token: used.prompt + used.completion,
        response_id: String::new(),
    };
}

/// Notes how often the provider's cache helped less than before, and why it last did.
fn add_prefix_change(stats: &mut Stats, change: &PrefixChange) {
    let metrics = stats.usage_to_metrics.entry(USAGE_ID.to_owned()).or_default();
    let noted = metrics.extra.get(PREFIX_CHANGES);
    let count = noted.and_then(|noted| noted["count"].as_u64()).unwrap_or(0);
    let noted = json!({ "count": count + 1, "last": change.to_string() });
    metrics.extra.insert(PREFIX_CHANGES.to_owned(), noted);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use deft_llm::{Delta, OtherUse};

    use super::*;

    fn used(prompt: u64, cost: Option<&str>) -> Usage {
        Usage {
            prompt: Tokens(prompt),
            cost: cost.and_then(|cost| cost.parse().ok()),
            ..Usage::default()
        }
    }

    fn after(stats: &Stats, deltas: Vec<Delta>) -> Stats {
        let mut spent = Spent::default();
        for delta in deltas {
            spent.add(&delta);
        }
        add_call(stats, &ModelProfile::unknown("m"), &spent, None)
    }

    #[test]
    fn an_unknown_cost_is_noted_and_adds_nothing() {
        let known = after(&Stats::default(), vec![Delta::Usage(used(1, Some("0.5")))]);
        assert!(!known.cost_unknown());
        assert!(
            !json!(known).to_string().contains("cost_unknown"),
            "the wire stays as it was"
        );
        let mixed = after(&known, vec![Delta::Usage(used(1, None))]);
        assert!(mixed.cost_unknown());
        assert_eq!(mixed.total_cost(), known.total_cost());
    }

    #[test]
    fn every_attempt_and_every_other_model_counts() {
        let retry = Delta::Retry {
            attempt: 2,
            wait: Duration::ZERO,
            reason: String::new(),
        };
        let other = Delta::OtherUse(OtherUse {
            usage_id: "classifier:small".to_owned(),
            model: "small".to_owned(),
            usage: used(3, Some("0.25")),
        });
        let stats = after(
            &Stats::default(),
            vec![
                other,
                Delta::Usage(used(10, Some("1"))),
                retry,
                Delta::Usage(used(20, Some("2"))),
            ],
        );
        let tokens = |id: &str| {
            let usage = stats.usage_to_metrics[id]
                .accumulated_token_usage
                .clone()
                .unwrap();
            (usage.prompt_tokens, usage.per_turn_token)
        };
        assert_eq!(tokens(USAGE_ID), (Tokens(30), Tokens(20)));
        assert_eq!(tokens("classifier:small"), (Tokens(3), Tokens(3)));
        assert_eq!(stats.total_cost(), "3.25".parse().unwrap());
    }

    #[test]
    fn changes_of_the_prefix_are_counted_and_the_last_is_named() {
        let mut stats = Stats::default();
        add_prefix_change(&mut stats, &PrefixChange::Instructions);
        add_prefix_change(&mut stats, &PrefixChange::Tools);
        let noted = &stats.usage_to_metrics[USAGE_ID].extra[PREFIX_CHANGES];
        assert_eq!(*noted, json!({ "count": 2, "last": "the tools changed" }));
    }
}
