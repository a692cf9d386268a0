//! The typed form of a workspace's name: an object whose `kind` says which, for programs and settings.

use serde_json::{Map, Value};
use url::form_urlencoded::Serializer;

use super::{WorkspaceName, WorkspaceNameError};

impl WorkspaceName {
    /// Reads a name, or its typed form: `{"kind": "docker", "image": "debian:12", "memory": 2048}`. What is not the
    /// place itself is an option, as behind the question mark of the name; a list is the same option several times.
    pub fn from_json(value: &Value) -> Result<Self, WorkspaceNameError> {
        let wrong = |reason| WorkspaceNameError {
            name: value.to_string(),
            reason,
        };
        let mut fields = match value {
            Value::String(name) => return name.parse(),
            Value::Object(fields) => fields.clone(),
            _ => return Err(wrong("write a text, or an object with a `kind`")),
        };
        let kind = take(&mut fields, "kind");
        let name = match kind.as_deref() {
            Some(kind @ ("local" | "sandbox")) => {
                let path = take(&mut fields, "path").ok_or_else(|| wrong("`path` is missing"))?;
                format!("{kind}:{path}")
            }
            Some(kind @ ("docker" | "k8s")) => {
                let image = take(&mut fields, "image").ok_or_else(|| wrong("`image` is missing"))?;
                format!("{kind}:{image}{}", options(&mut fields))
            }
            Some("ssh") => {
                let mut given = |name| take(&mut fields, name);
                let host = given("host").ok_or_else(|| wrong("`host` is missing"))?;
                let path = given("path").ok_or_else(|| wrong("`path` is missing"))?;
                let user = given("user").map_or_else(String::new, |user| format!("{user}@"));
                let port = given("port").map_or_else(String::new, |port| format!(":{port}"));
                let host = if host.contains(':') {
                    format!("[{host}]")
                } else {
                    host
                };
                format!("ssh:{user}{host}{port}{path}")
            }
            Some("remote") => {
                let url = take(&mut fields, "url").ok_or_else(|| wrong("`url` is missing"))?;
                format!("remote:{url}{}", options(&mut fields))
            }
            Some(_) | None => {
                return Err(wrong("`kind` must be local, sandbox, docker, k8s, ssh or remote"));
            }
        };
        if fields.is_empty() {
            name.parse()
        } else {
            Err(wrong("it has a field that this kind of workspace does not have"))
        }
    }
}

fn take(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    text(&fields.shift_remove(name)?)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// All that is left, as it stands behind the question mark.
fn options(fields: &mut Map<String, Value>) -> String {
    let mut query = Serializer::new(String::new());
    let mut is_empty = true;
    fields.retain(|name, value| {
        let values = match value {
            Value::Array(values) => values.iter().map(text).collect(),
            value => vec![text(value)],
        };
        let Some(values) = values.into_iter().collect::<Option<Vec<_>>>() else {
            return true; // told as a field that does not belong here
        };
        is_empty &= values.is_empty();
        query.extend_pairs(values.iter().map(|value| (name, value)));
        false
    });
    if is_empty {
        return String::new();
    }
    format!("?{}", query.finish())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_typed_form_means_the_same_as_the_name() {
        for (typed, name) in [
            (json!("docker:debian:12"), "docker:debian:12"),
            (json!({"kind": "local", "path": "/a b"}), "local:/a b"),
            (json!({"kind": "sandbox", "path": "/a"}), "sandbox:/a"),
            (
                json!({"kind": "docker", "image": "debian:12", "memory": 2048, "network": "none"}),
                "docker:debian:12?memory=2048&network=none",
            ),
            (
                json!({"kind": "k8s", "image": "debian", "tolerate": ["gpu", "spot=yes"]}),
                "k8s:debian?tolerate=gpu&tolerate=spot%3Dyes",
            ),
            (
                json!({"kind": "ssh", "host": "::1", "user": "me", "port": 2222, "path": "/srv"}),
                "ssh:me@[::1]:2222/srv",
            ),
            (
                json!({"kind": "remote", "url": "https://h/", "dir": "/srv/x"}),
                "remote:https://h/?dir=%2Fsrv%2Fx",
            ),
        ] {
            assert_eq!(WorkspaceName::from_json(&typed).unwrap().to_string(), name);
        }
    }

    #[test]
    fn what_is_wrong_with_a_typed_form_is_told() {
        for (typed, reason) in [
            (json!({"image": "debian"}), "`kind` must be"),
            (json!({"kind": "docker"}), "`image` is missing"),
            (
                json!({"kind": "docker", "image": "x", "env": {"a": "b"}}),
                "does not have",
            ),
            (
                json!({"kind": "ssh", "host": "h", "path": "/x", "key": "k"}),
                "does not have",
            ),
            (json!({"kind": "ssh", "host": "-o", "path": "/x"}), "write ssh:"),
            (json!(7), "write a text"),
        ] {
            let error = WorkspaceName::from_json(&typed).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
