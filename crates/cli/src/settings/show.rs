//! What `deft config` prints.

use serde_json::{Map, Value, json};

use super::key::{KEYS, Settings};

impl Settings {
    /// Lines of `deft.toml`, each with the value's source behind it; secrets masked.
    pub(crate) fn to_text(&self) -> String {
        let shown = || KEYS.iter().map(|key| (key, (key.show)(self)));
        // A JSON string or number is a TOML one too.
        let line = |name: &str, value: &Value| format!("{name} = {value}");
        let width = shown()
            .filter(|(_, (value, _))| !value.is_null())
            .map(|(key, (value, _))| line(key.name, &value).chars().count())
            .max()
            .unwrap_or(0);
        let lines = shown().map(|(key, (value, source))| match value {
            Value::Null => format!("# {} is not set", key.name),
            value => format!("{:width$}   # {source}", line(key.name, &value)),
        });
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }

    /// An object with `value` and `source` for each key; secrets masked, `null` where nothing is set.
    pub(crate) fn to_json(&self) -> Value {
        let entry = |key: &super::Key| {
            let (value, source) = (key.show)(self);
            (
                key.name.to_owned(),
                json!({"value": value, "source": source.to_string()}),
            )
        };
        Value::Object(KEYS.iter().map(entry).collect::<Map<_, _>>())
    }
}
