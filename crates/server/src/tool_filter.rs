//! Which tools a client's agent may have, by a pattern for their names.

use std::sync::Arc;

use fancy_regex::Regex;
use serde_json::Value;

use crate::validation::Issue;

/// The pattern that an agent has, which must fit the beginning of a name. The patterns that people have come from Python
/// and look ahead, so they are read as those are.
pub(crate) fn of_agent(agent: &Value) -> Result<Option<Regex>, Issue> {
    let pattern = &agent["filter_tools_regex"];
    let Some(text) = pattern.as_str() else {
        return Ok(None);
    };
    let regex = Regex::new(&format!("^(?:{text})")).map_err(|error| {
        let place = &["body", "agent", "filter_tools_regex"];
        Issue::rule(place, &format!("this is no pattern: {error}"), pattern)
    })?;
    Ok(Some(regex))
}

/// The same for names. A pattern that takes too long fits nothing.
pub(crate) fn by_name(pattern: Regex) -> Arc<dyn Fn(&str) -> bool + Send + Sync> {
    Arc::new(move |name| pattern.is_match(name).unwrap_or(false))
}
