//! The last calls to models one by one: what each cost, how long it took, which tokens it used. An update of the
//! stats tells of the newest call only, so that a log grows with its calls and not with their square.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

use crate::wire::CALL_LISTS;

/// How many are remembered of each use of models.
const MAX_CALLS: usize = 50;

/// By use of a model and name of the list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls(BTreeMap<(String, &'static str), VecDeque<Value>>);

impl Calls {
    /// Takes in what an update of the stats tells.
    pub(crate) fn take(&mut self, stats: &Value) {
        for (usage, metrics) in stats["usage_to_metrics"].as_object().into_iter().flatten() {
            for list in CALL_LISTS {
                let newest = metrics[list].as_array().into_iter().flatten();
                for call in newest {
                    self.add(usage, list, call.clone());
                }
            }
        }
    }

    /// These, and newer ones behind them.
    pub(crate) fn followed_by(mut self, newer: Self) -> Self {
        for ((usage, list), calls) in newer.0 {
            for call in calls {
                self.add(&usage, list, call);
            }
        }
        self
    }

    /// Puts every list that the contract has into stats.
    pub(crate) fn fill(&self, stats: &mut Value) {
        let all = stats.get_mut("usage_to_metrics").and_then(Value::as_object_mut);
        for (usage, metrics) in all.into_iter().flatten() {
            let Some(metrics) = metrics.as_object_mut() else {
                continue;
            };
            for list in CALL_LISTS {
                let calls = self.0.get(&(usage.clone(), list));
                let calls = calls.map_or_else(|| json!([]), |calls| json!(calls));
                metrics.insert(list.to_owned(), calls);
            }
        }
    }

    fn add(&mut self, usage: &str, list: &'static str, call: Value) {
        let calls = self.0.entry((usage.to_owned(), list)).or_default();
        if calls.len() == MAX_CALLS {
            calls.pop_front();
        }
        calls.push_back(call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(cost: u64) -> Value {
        json!({"usage_to_metrics": {"agent": {"costs": [{"cost": cost}]}}})
    }

    #[test]
    fn the_last_calls_stand_in_order_and_no_more_than_so_many() {
        let (mut older, mut newer) = (Calls::default(), Calls::default());
        for cost in 0..55 {
            let calls = if cost < 10 { &mut older } else { &mut newer };
            calls.take(&told(cost));
        }
        let mut stats = told(0);
        older.followed_by(newer).fill(&mut stats);
        let metrics = &stats["usage_to_metrics"]["agent"];
        let costs = metrics["costs"].as_array().unwrap();
        assert_eq!(
            (costs.len(), &costs[0]["cost"], &costs[49]["cost"]),
            (50, &json!(5), &json!(54))
        );
        assert_eq!(metrics["token_usages"], json!([]));
    }
}
