//! Where settings of the contract are said: in variables, and beneath them in a JSON file.

use std::str::FromStr;
use std::time::Duration;

use deft_types::Secret;
use fancy_regex::Regex;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::ConfigError;
use crate::webhooks::Webhook;

/// A time that may have a fraction.
pub(super) struct Seconds(pub(super) Duration);

impl FromStr for Seconds {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let seconds = text.parse().map_err(|_| ())?;
        Duration::try_from_secs_f64(seconds).map(Self).map_err(|_| ())
    }
}

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

    pub(super) fn number<T: FromStr>(&self, field: &str) -> Result<Option<T>, ConfigError> {
        let Some(said) = self.text(field) else {
            return Ok(None);
        };
        let wrong = || ConfigError::Number {
            variable: variable_name(field),
            said: said.clone(),
        };
        said.trim().parse().map(Some).map_err(|_| wrong())
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
    pub(super) fn list(&self, field: &str) -> Result<Vec<String>, ConfigError> {
        let name = variable_name(field);
        let numbered = (0..).map_while(|index| (self.variable)(&format!("{name}_{index}")));
        let numbered: Vec<_> = numbered.collect();
        let is_count = |text: &String| !numbered.is_empty() && text.parse::<u32>().is_ok();
        let whole = (self.variable)(&name).filter(|text| !text.is_empty() && !is_count(text));
        let whole = whole.map(|text| serde_json::from_str(&text).unwrap_or_else(|_| vec![text]));
        match whole {
            Some(whole) => {
                let rest = whole.into_iter().skip(numbered.len()).collect();
                Ok([numbered, rest].concat())
            }
            None if !numbered.is_empty() => Ok(numbered),
            None => self.in_file(field),
        }
    }

    /// A list of the file; one that is not there is empty.
    fn in_file<T: DeserializeOwned>(&self, field: &str) -> Result<Vec<T>, ConfigError> {
        let list: Option<Vec<T>> = match self.file.get(field) {
            None => None,
            Some(list) => Option::deserialize(list).map_err(|_| wrong_list(field))?,
        };
        Ok(list.unwrap_or_default())
    }
}

fn wrong_list(field: &str) -> ConfigError {
    let variable = variable_name(field);
    ConfigError::List { variable }
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
        let field = "webhooks";
        // A number says how many there are.
        let is_said = |text: &String| !text.is_empty() && text.parse::<u32>().is_err();
        let mut written: Vec<Map<String, Value>> =
            match (self.variable)(&variable_name(field)).filter(is_said) {
                Some(text) => serde_json::from_str(&text).map_err(|_| wrong_list(field))?,
                None => self.in_file(field)?,
            };
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
            for (field, value) in texts.into_iter().flatten() {
                written[number].insert(field.to_owned(), value);
            }
            for field in OTHERS {
                let Some(text) = variable(field) else { continue };
                let value = serde_json::from_str(&text).map_err(|_| ConfigError::Webhook {
                    number,
                    reason: format!("what {field} says is no JSON"),
                })?;
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
