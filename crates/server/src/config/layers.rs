//! Where settings of the contract are said: in variables, and beneath them in a JSON file.

use deft_types::Secret;
use fancy_regex::Regex;
use serde_json::{Map, Value};

use super::ConfigError;
use crate::webhooks::Webhook;

/// The variables over the file.
pub(super) struct Layers<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    file: Map<String, Value>,
}

impl<'a> Layers<'a> {
    pub(super) fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        // Only a file that is named: one that lies in the current directory may be a repository's.
        let file = match variable("OPENHANDS_AGENT_SERVER_CONFIG_PATH") {
            None => Map::new(),
            Some(path) => {
                let unreadable = |reason: String| ConfigError::File {
                    path: path.clone(),
                    reason,
                };
                let text = std::fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?;
                serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?
            }
        };
        Ok(Self { variable, file })
    }

    pub(super) fn text(&self, field: &str) -> Option<String> {
        let name = variable_name(field);
        if self.is_on(&format!("{name}_IS_NONE")) {
            return None;
        }
        let set = (self.variable)(&name).filter(|text| !text.is_empty());
        set.or_else(|| match self.file.get(field)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        })
    }

    pub(super) fn pattern(&self, field: &str) -> Result<Option<Regex>, ConfigError> {
        let Some(written) = self.text(field) else {
            return Ok(None);
        };
        let whole = Regex::new(&format!("^(?:{written})$"));
        whole.map(Some).map_err(|error| ConfigError::Pattern {
            variable: variable_name(field),
            reason: error.to_string(),
        })
    }

    fn is_on(&self, name: &str) -> bool {
        (self.variable)(name).is_some_and(|text| is_yes(&text))
    }

    /// The key for whoever wakes a server that waits; as in the contract, else the first of those that open it.
    pub(super) fn init_key(&self, first: Option<&String>) -> Result<Option<Secret<String>>, ConfigError> {
        if !self.text("deferred_init").is_some_and(|text| is_yes(&text)) {
            return Ok(None);
        }
        let key = self.text("secret_key").filter(|key| !key.is_empty());
        let key = key.or_else(|| first.cloned());
        Ok(Some(Secret::new(key.ok_or(ConfigError::InitKey)?)))
    }

    /// `OH_X` with a JSON list or a single text, and over it `OH_X_0`, `OH_X_1` …; else the file's list. A number in
    /// `OH_X` beside these says how many there are, which they say themselves.
    pub(super) fn list(&self, field: &str) -> Vec<String> {
        let name = variable_name(field);
        let numbered = (0..).map_while(|index| (self.variable)(&format!("{name}_{index}")));
        let numbered: Vec<_> = numbered.collect();
        let is_count = |text: &String| !numbered.is_empty() && text.parse::<u32>().is_ok();
        let whole = (self.variable)(&name).filter(|text| !text.is_empty() && !is_count(text));
        let whole = whole.map(|text| serde_json::from_str(&text).unwrap_or_else(|_| vec![text]));
        match whole {
            Some(whole) => {
                let rest = whole.into_iter().skip(numbered.len()).collect();
                [numbered, rest].concat()
            }
            None if !numbered.is_empty() => numbered,
            None => {
                let from_file = || serde_json::from_value(self.file.get(field)?.clone()).ok();
                from_file().unwrap_or_default()
            }
        }
    }
}

fn is_yes(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

/// The fields of a webhook that variables can set: those that are texts, and those that are JSON.
const TEXTS: [&str; 2] = ["base_url", "secret"];
const OTHERS: [&str; 7] = [
    "event_buffer_size",
    "flush_delay",
    "num_retries",
    "retry_delay",
    "headers",
    "max_batch_bytes",
    "dead_letter_after",
];

impl Layers<'_> {
    /// `OH_WEBHOOKS` with a JSON list, or the file's list; and over it `OH_WEBHOOKS_0_BASE_URL` and the like.
    pub(super) fn webhooks(&self) -> Result<Vec<Webhook>, ConfigError> {
        let set = (self.variable)("OH_WEBHOOKS").and_then(|text| serde_json::from_str(&text).ok());
        let from_file = || serde_json::from_value(self.file.get("webhooks")?.clone()).ok();
        let mut written: Vec<Map<String, Value>> = set.or_else(from_file).unwrap_or_default();
        for number in 0.. {
            let variable = |field: &str| {
                let name = format!("OH_WEBHOOKS_{number}_{}", field.to_ascii_uppercase());
                (self.variable)(&name).filter(|text| !text.is_empty())
            };
            if written.len() <= number {
                if variable("base_url").is_none() {
                    break;
                }
                written.push(Map::new());
            }
            let texts = TEXTS.map(|field| Some((field, Value::from(variable(field)?))));
            let others = OTHERS.map(|field| Some((field, serde_json::from_str(&variable(field)?).ok()?)));
            for (field, value) in texts.into_iter().chain(others).flatten() {
                written[number].insert(field.to_owned(), value);
            }
        }
        let read = |(number, fields)| {
            serde_json::from_value(Value::Object(fields)).map_err(|error| ConfigError::Webhook {
                number,
                reason: error.to_string(),
            })
        };
        written.into_iter().enumerate().map(read).collect()
    }
}

fn variable_name(field: &str) -> String {
    format!("OH_{}", field.to_ascii_uppercase())
}
