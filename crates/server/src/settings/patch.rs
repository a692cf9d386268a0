//! Puts changes that clients send over what is there.

use serde_json::{Value, json};

use crate::masking::ASTERISKS;

/// What stands for a secret in what a client was shown: it means that the secret stays.
pub(super) const STAYS: &str = ASTERISKS;

/// Puts one value over another, field by field.
pub(crate) fn merge(base: &mut Value, diff: &Value) {
    match (base, diff) {
        (Value::Object(base), Value::Object(diff)) => {
            for (name, value) in diff {
                merge(base.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (_, Value::String(text)) if text == STAYS => {}
        (base, diff) => *base = diff.clone(),
    }
}

/// Changes a value field by field, as a merge patch (RFC 7386) does: a field that is null is taken away.
pub(crate) fn patch(base: &mut Value, diff: &Value) {
    let (Value::Object(fields), Value::Object(changes)) = (&mut *base, diff) else {
        if diff.is_object() {
            *base = json!({});
            patch(base, diff);
        } else if diff != STAYS {
            *base = diff.clone();
        }
        return;
    };
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else if change != STAYS {
            patch(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}

/// The same, where fields of the whole may be null, and only those within them are taken away.
pub(crate) fn patch_beneath(base: &mut Value, diff: &Value) {
    match (base, diff) {
        (Value::Object(base), Value::Object(diff)) => {
            for (name, change) in diff {
                patch(base.entry(name.clone()).or_insert(Value::Null), change);
            }
        }
        (base, diff) => *base = diff.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_null_within_a_field_is_taken_away() {
        let mut misc = json!({"ui": {"a": 1, "b": 2}});
        patch_beneath(&mut misc, &json!({"ui": {"a": null}, "seen": null}));
        assert_eq!(misc, json!({"ui": {"b": 2}, "seen": null}));
    }
}
