//! The part of a file between two lines of `---`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::problem::Fault;
use crate::skill::Input;

/// What people write there. What we do not know is passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct FrontMatter {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) compatibility: Option<String>,
    pub(crate) metadata: BTreeMap<String, Value>,
    #[serde(alias = "allowed_tools")]
    pub(crate) allowed_tools: Listed,
    #[serde(alias = "disable_model_invocation")]
    pub(crate) disable_model_invocation: bool,
    #[serde(alias = "mcp_tools")]
    pub(crate) mcp_tools: Value,
    pub(crate) triggers: Listed,
    pub(crate) inputs: Vec<Input>,
    pub(crate) paths: Listed,
    pub(crate) capabilities: Listed,
    #[serde(alias = "documentation")]
    pub(crate) urls: Listed,
    #[serde(alias = "input_schema")]
    pub(crate) input_schema: Option<Value>,
    #[serde(alias = "output_schema")]
    pub(crate) output_schema: Option<Value>,
}

/// A list, or one text with separators.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Listed {
    Text(String),
    List(Vec<String>),
    Nothing(()),
}

impl Default for Listed {
    fn default() -> Self {
        Self::Nothing(())
    }
}

impl Listed {
    pub(crate) fn split(self, separator: impl Fn(char) -> bool) -> Vec<String> {
        let own = |part: &str| Some(part.trim().to_owned()).filter(|part| !part.is_empty());
        match self {
            Self::Text(text) => text.split(separator).filter_map(own).collect(),
            Self::List(list) => list.iter().filter_map(|part| own(part)).collect(),
            Self::Nothing(()) => Vec::new(),
        }
    }
}

/// Takes a file apart. One without front matter is all body.
pub(crate) fn parse(text: &str) -> Result<(FrontMatter, &str), Fault> {
    parse_as(text)
}

/// The same for another kind of front matter.
pub(crate) fn parse_as<T: DeserializeOwned + Default>(text: &str) -> Result<(T, &str), Fault> {
    let text = text.trim_start_matches('\u{feff}');
    let Some(rest) = text
        .strip_prefix("---")
        .filter(|rest| rest.starts_with(['\n', '\r']))
    else {
        return Ok((T::default(), text.trim()));
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let (yaml, body) = (&rest[..at], &rest[at + line.len()..]);
            return Ok((read(yaml)?, body.trim()));
        }
        at += line.len();
    }
    let reason = "the line `---` that ends it is missing".to_owned();
    Err(Fault::BadFrontMatter { reason })
}

fn read<T: DeserializeOwned + Default>(yaml: &str) -> Result<T, Fault> {
    if yaml.trim().is_empty() {
        return Ok(T::default());
    }
    serde_saphyr::from_str(yaml).or_else(|error| {
        serde_saphyr::from_str(&with_quotes(yaml)).map_err(|_| Fault::BadFrontMatter {
            reason: error.to_string().lines().next().unwrap_or_default().to_owned(),
        })
    })
}

/// Puts quotes around texts that need them and have none: many people write `description: Use when: ...`.
fn with_quotes(yaml: &str) -> String {
    let quoted = |line: &str| {
        let (key, text) = line.split_once(": ")?;
        let text = text.trim();
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        (is_key && needs_quotes(text)).then(|| format!("{key}: '{}'", text.replace('\'', "''")))
    };
    let lines = yaml
        .lines()
        .map(|line| quoted(line).unwrap_or_else(|| line.to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether YAML takes a part of a text for something else. A list or a text that is not ended is just that.
fn needs_quotes(text: &str) -> bool {
    let goes_on_behind = |end: char| text[1..].contains(end) && !text.ends_with(end);
    match text.chars().next() {
        Some('[') => goes_on_behind(']'),
        Some('{') => goes_on_behind('}'),
        Some(quote @ ('"' | '\'')) => goes_on_behind(quote),
        Some('|' | '>') | None => false,
        Some('`' | '@' | '%' | '*' | '&' | '!') => true,
        Some(_) => text.contains(": ") || text.ends_with(':'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_yaml_wants_in_quotes_are_read_without_them() {
        for text in [
            "Use when: something is: odd",
            "[Beta] it's a thing: see https://example.com # here",
            "`code`: how to",
            "@someone may: ask",
            "ends with:",
            "*bold* claims",
            "\"quoted\" and more",
        ] {
            let file = format!("---\nname: a\ndescription: {text}\ntriggers:\n  - one\n  - two\n---\nBody");
            let (front, body) = parse(&file).unwrap();
            assert_eq!(front.description.as_deref(), Some(text));
            assert_eq!((front.name.as_deref(), body), (Some("a"), "Body"));
            assert_eq!(front.triggers.split(|_| false), ["one", "two"]);
        }
    }

    #[test]
    fn what_is_broken_otherwise_stays_broken_with_the_first_reason() {
        for yaml in ["name: [a", "name: a\n   b: c: d\n e", "\t: x", "inputs: 7"] {
            assert!(parse(&format!("---\n{yaml}\n---\n")).is_err(), "{yaml}");
        }
    }
}
