//! `${NAME}` and `${NAME:-default}` in what people write, so that secrets need not stand in files.

use serde_json::{Map, Value};

use super::ConfigError;

/// The parts of a server in which variables are put: what it is told, not what it is.
const PARTS: [&str; 3] = ["args", "env", "headers"];

/// Puts variables in. One that is not set and has no default is an error: an empty text in its place would only show
/// later, as a refused login.
pub fn put_variables(
    servers: &mut Map<String, Value>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(), ConfigError> {
    for (name, server) in servers {
        for part in PARTS {
            let texts: Vec<&mut Value> = match server.get_mut(part) {
                Some(Value::Array(list)) => list.iter_mut().collect(),
                Some(Value::Object(map)) => map.values_mut().collect(),
                Some(_) | None => continue,
            };
            for text in texts {
                if let Value::String(text) = text {
                    *text = filled(text, variable).map_err(|missing| ConfigError::Server {
                        server: name.clone(),
                        reason: format!(
                            "its `{part}` names ${{{missing}}}, which is not set; set it, or write ${{{missing}:-default}}"
                        ),
                    })?;
                }
            }
        }
    }
    Ok(())
}

/// A text with its variables, or the name of the one that is missing.
fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((inside, after)) = behind.split_once('}') else {
            break;
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let value = variable(name).or_else(|| default.map(str::to_owned));
        filled += before;
        filled += &value.ok_or_else(|| name.to_owned())?;
        rest = after;
    }
    Ok(filled + rest)
}
