//! What a conversation may use in all: said once, it holds whenever the conversation goes on.

use deft_store::Store;
use deft_types::{ConversationId, Money};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::settings::{Setting, Settings, Source};

/// Where the server keeps it too, so that the app and the command line go by the same limits.
const BUDGET: &str = "budget";

/// Keeps the limits that are given now with the conversation, and takes from it those that are not.
pub(crate) async fn keep(
    settings: &mut Settings,
    store: &dyn Store,
    id: ConversationId,
) -> anyhow::Result<()> {
    let stored = store.settings(id).await?.unwrap_or_default();
    let mut budget = match &stored[BUDGET] {
        Value::Object(budget) => budget.clone(),
        _ => Map::new(),
    };
    keep_one::<Money>(&mut budget, "cost", &mut settings.max_cost);
    keep_one::<u64>(&mut budget, "tokens", &mut settings.max_tokens);
    let budget = Value::Object(budget);
    if stored[BUDGET] != budget && budget != json!({}) {
        store
            .change_settings(id, Map::from_iter([(BUDGET.to_owned(), budget)]))
            .await?;
    }
    Ok(())
}

/// The settings that a copy of a conversation begins with: its limits.
pub(crate) async fn copied(store: &dyn Store, source: ConversationId) -> anyhow::Result<Value> {
    let stored = store.settings(source).await?.unwrap_or_default();
    let limits = stored.get(BUDGET).cloned();
    let settings = limits.map(|limits| (BUDGET.to_owned(), limits));
    Ok(Value::Object(settings.into_iter().collect()))
}

/// A flag or a variable is a word about this conversation; a file is one about all of them.
fn keep_one<T: Serialize + DeserializeOwned + Copy>(
    budget: &mut Map<String, Value>,
    name: &str,
    setting: &mut Setting<Option<T>>,
) {
    if let (Source::Flag(_) | Source::Environment(_), Some(limit)) = (&setting.source, setting.value) {
        budget.insert(name.to_owned(), json!(limit));
    } else {
        let kept = budget.get(name).and_then(|limit| T::deserialize(limit).ok());
        setting.value = kept.or(setting.value);
    }
}
