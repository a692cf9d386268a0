//! Conversations that do a part of another's work, as the other's settings name them.
//!
//! Each has a setting of its own, because several may begin at the same time.

use std::time::{SystemTime, UNIX_EPOCH};

use deft_store::{Store, StoreError};
use deft_types::ConversationId;
use serde_json::{Map, Value, json};

/// The name of the setting that older conversations have, which lists them all.
const LIST: &str = "sub_conversation_ids";
/// The beginning of the names that are in use; the child's id follows, and the value is when it began.
const ONE: &str = "sub_conversation:";

/// Notes that a conversation does a part of another's work.
pub async fn note_child(
    store: &dyn Store,
    parent: ConversationId,
    child: ConversationId,
) -> Result<(), StoreError> {
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let began = u64::try_from(began.as_micros()).unwrap_or(u64::MAX);
    let setting = Map::from_iter([(format!("{ONE}{child}"), json!(began))]);
    store.change_settings(parent, setting).await
}

/// The ids of all that do, the first one first.
pub fn children_of(settings: &Value) -> Vec<Value> {
    let listed = settings[LIST].as_array().into_iter().flatten().cloned();
    let noted = settings.as_object().into_iter().flatten();
    let mut noted: Vec<_> = noted
        .filter_map(|(name, began)| Some((began.as_u64()?, name.strip_prefix(ONE)?)))
        .collect();
    noted.sort_unstable();
    listed.chain(noted.into_iter().map(|(_, id)| json!(id))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_stand_in_the_order_in_which_they_began() {
        let settings = json!({"sub_conversation:a": 3, "sub_conversation:b": 1, "tags": {}, "sub_conversation_ids": ["c"]});
        assert_eq!(children_of(&settings), [json!("c"), json!("b"), json!("a")]);
        assert!(children_of(&Value::Null).is_empty());
    }
}
