//! How a server that was started ahead of its use is to serve.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::request::object;
use crate::validation::Issue;

/// What may be said beside `env`. Each is what the variable `OH_…` of that name says.
const FIELDS: [&str; 11] = [
    "session_api_keys",
    "secret_key",
    "previous_secret_keys",
    "conversations_path",
    "bash_events_dir",
    "conversation_worktree_root",
    "webhooks",
    "web_url",
    "allow_cors_origins",
    "max_concurrent_runs",
    "telemetry",
];

/// How to serve: variables that count over those of the process.
#[derive(Debug, PartialEq)]
pub struct Init {
    /// Variables for everything, the contract's own not among them.
    env: BTreeMap<String, String>,
    /// What was said of the server itself.
    fields: Map<String, Value>,
}

impl Init {
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let mut init = Self {
            env: BTreeMap::new(),
            fields: Map::new(),
        };
        for (name, value) in object(body)? {
            let place = &["body", name.as_str()];
            match (name.as_str(), value) {
                (name, Value::Null) if name == "env" || FIELDS.contains(&name) => {}
                ("env", value) => {
                    init.env = serde_json::from_value(value.clone()).map_err(|_| {
                        Issue::new(
                            "dict_type",
                            place,
                            "Input should be a dictionary of strings",
                            value,
                        )
                    })?;
                }
                (name, value) if FIELDS.contains(&name) => {
                    init.fields.insert(name.to_owned(), value.clone());
                }
                _ => {
                    let msg = "Extra inputs are not permitted";
                    return Err(Issue::new("extra_forbidden", place, msg, value).into());
                }
            }
        }
        for (name, value) in &init.fields {
            if !fits(name, value) {
                let place = &["body", name.as_str()];
                return Err(Issue::rule(place, "it is not of the type that the contract says", value).into());
            }
        }
        Ok(init)
    }

    /// Lets it count over the environment.
    pub fn apply(&self, environment: &mut BTreeMap<String, String>) {
        environment.extend(self.env.clone());
        for (field, value) in &self.fields {
            let name = format!("OH_{}", field.to_ascii_uppercase());
            environment.retain(|other, _| !is_part_of(other, &name));
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            environment.insert(name, text);
        }
        if self.fields.contains_key("session_api_keys") {
            environment.remove("SESSION_API_KEY");
        }
    }

    /// Where everything is to be kept.
    pub fn data_dir(&self) -> Option<PathBuf> {
        let path = self.fields.get("conversations_path")?.as_str()?;
        Some(PathBuf::from(path))
    }
}

fn fits(name: &str, value: &Value) -> bool {
    let is_list_of = |holds: fn(&Value) -> bool| value.as_array().is_some_and(|list| list.iter().all(holds));
    match name {
        "session_api_keys" | "previous_secret_keys" | "allow_cors_origins" => is_list_of(Value::is_string),
        "webhooks" => is_list_of(Value::is_object),
        "max_concurrent_runs" => value.as_u64().is_some_and(|runs| runs > 0),
        "telemetry" => value.is_object(),
        _ => value.is_string(),
    }
}

/// Whether a variable is one of `NAME_0`, `NAME_1_SECRET` …
fn is_part_of(variable: &str, name: &str) -> bool {
    let rest = variable
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('_'));
    rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_said_counts_over_the_environment() {
        let body = json!({"session_api_keys": ["k-user"], "max_concurrent_runs": 3, "web_url": null,
            "env": {"FOO": "bar"}});
        let before = [
            ("OH_SESSION_API_KEYS_0", "k-old"),
            ("SESSION_API_KEY", "k-older"),
            ("OH_WEB_URL", "https://deft.example"),
            ("HOME", "/home/me"),
        ];
        let mut environment = BTreeMap::from(before.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Init::read(&body).unwrap().apply(&mut environment);
        let after = [
            ("FOO", "bar"),
            ("HOME", "/home/me"),
            ("OH_MAX_CONCURRENT_RUNS", "3"),
            ("OH_SESSION_API_KEYS", r#"["k-user"]"#),
            ("OH_WEB_URL", "https://deft.example"),
        ];
        assert_eq!(
            environment,
            BTreeMap::from(after.map(|(name, value)| (name.to_owned(), value.to_owned())))
        );
    }

    #[test]
    fn what_the_contract_does_not_have_is_refused() {
        for body in [
            json!({"bogus": 1}),
            json!({"max_concurrent_runs": 0}),
            json!({"session_api_keys": "k"}),
            json!({"env": {"A": 1}}),
            json!([]),
        ] {
            assert!(Init::read(&body).is_err(), "{body}");
        }
    }
}
