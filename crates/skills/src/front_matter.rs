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
    serde_saphyr::from_str(yaml).map_err(|error| Fault::BadFrontMatter {
        reason: error.to_string().lines().next().unwrap_or_default().to_owned(),
    })
}
