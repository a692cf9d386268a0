//! What calls to models add to the stats.

use std::time::{SystemTime, UNIX_EPOCH};

use deft_llm::{ModelProfile, PrefixChange, Reply, Spent, Usage};
use deft_types::{Cost, Latency, Money, Stats, TokenUsage};
use serde_json::json;

/// What the agent's model is used for, in the stats.
pub(super) const USAGE_ID: &str = "agent";
/// The field of the stats that says how many calls were cut off, so that what they used is our estimate.
const ESTIMATED: &str = "estimated_calls";
/// The field of the stats that says how often the provider's cache helped less than before, and why.
const PREFIX_CHANGES: &str = "prefix_changes";

/// A use of a model.
pub(super) struct Call<'a> {
    /// What it was used for.
    pub(super) usage_id: &'a str,
    pub(super) profile: &'a ModelProfile,
    /// When it ended.
    pub(super) at: SystemTime,
}

/// The stats with a call, attempts that failed and other models included. Of a reply without counts only the cost is
/// unknown; a call that failed without any used nothing. The lists have this call only.
pub(super) fn add_call(stats: &Stats, call: &Call, spent: &Spent, reply: Option<&Reply>) -> Stats {
    let mut stats = stats.clone();
    let uncounted = reply.filter(|_| spent.attempts.is_empty());
    let usages: Vec<_> = spent
        .attempts
        .iter()
        .chain(uncounted.map(|reply| &reply.usage))
        .collect();
    for (index, usage) in usages.iter().enumerate() {
        let is_last = index + 1 == usages.len();
        add_usage(&mut stats, call, usage, reply.filter(|_| is_last));
    }
    for other in &spent.others {
        let profile = ModelProfile::unknown(&other.model);
        let call = Call {
            usage_id: &other.usage_id,
            profile: &profile,
            at: call.at,
        };
        add_usage(&mut stats, &call, &other.usage, None);
    }
    if spent.estimated {
        let metrics = stats
            .usage_to_metrics
            .entry(call.usage_id.to_owned())
            .or_default();
        let count = metrics.extra.get(ESTIMATED).and_then(serde_json::Value::as_u64);
        metrics
            .extra
            .insert(ESTIMATED.to_owned(), json!(count.unwrap_or(0) + 1));
    }
    if let Some(change) = reply.and_then(|reply| reply.prefix_change.as_ref()) {
        add_prefix_change(&mut stats, change);
    }
    stats
}

/// The stats with one use of a model for something else.
pub(super) fn add_reply(stats: &Stats, call: &Call, reply: &Reply) -> Stats {
    let mut stats = stats.clone();
    let used = Usage {
        cost: reply.cost,
        ..reply.usage
    };
    add_usage(&mut stats, call, &used, Some(reply));
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

fn add_usage(stats: &mut Stats, call: &Call, used: &Usage, reply: Option<&Reply>) {
    let metrics = stats
        .usage_to_metrics
        .entry(call.usage_id.to_owned())
        .or_default();
    let model = || call.profile.name.clone();
    metrics.model_name = model();
    match used.cost {
        Some(cost) => metrics.accumulated_cost += cost,
        None => metrics.cost_unknown = true,
    }
    let response_id = || reply.map(|reply| reply.response_id.clone()).unwrap_or_default();
    let total = metrics.accumulated_token_usage.get_or_insert_default();
    let one = TokenUsage {
        model: model(),
        prompt_tokens: used.prompt,
        completion_tokens: used.completion,
        cache_read_tokens: used.cache_read,
        cache_write_tokens: used.cache_write,
        reasoning_tokens: used.reasoning,
        context_window: call.profile.context_window.unwrap_or(total.context_window),
        per_turn_token: used.prompt + used.completion,
        response_id: response_id(),
    };
    *total = TokenUsage {
        prompt_tokens: total.prompt_tokens + used.prompt,
        completion_tokens: total.completion_tokens + used.completion,
        cache_read_tokens: total.cache_read_tokens + used.cache_read,
        cache_write_tokens: total.cache_write_tokens + used.cache_write,
        reasoning_tokens: total.reasoning_tokens + used.reasoning,
        response_id: String::new(),
        ..one.clone()
    };
    metrics.token_usages.get_or_insert_default().push(one);
    if let Some(cost) = used.cost.filter(|cost| *cost > Money::ZERO) {
        let since = call.at.duration_since(UNIX_EPOCH).unwrap_or_default();
        metrics.costs.get_or_insert_default().push(Cost {
            model: model(),
            cost,
            timestamp: since.as_secs_f64(),
        });
    }
    if let Some(reply) = reply {
        metrics.response_latencies.get_or_insert_default().push(Latency {
            model: model(),
            latency: reply.latency.as_secs_f64(),
            response_id: response_id(),
        });
    }
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
    use deft_types::Tokens;

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
        let call = Call {
            usage_id: USAGE_ID,
            profile: &ModelProfile::unknown("m"),
            at: UNIX_EPOCH,
        };
        add_call(stats, &call, &spent, None)
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
        let costs = stats.usage_to_metrics[USAGE_ID].costs.as_ref().unwrap();
        let costs: Vec<_> = costs.iter().map(|cost| cost.cost.to_string()).collect();
        assert_eq!(costs, ["$1.00", "$2.00"], "each call by itself, too");
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
