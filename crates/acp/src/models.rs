//! The models that an agent can use, and how it is told to use another.
//!
//! Agents tell them as `models` of a session, or as one of its options that is about the model.

use serde_json::{Value, json};

/// A model that an agent can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// What it is called in requests.
    pub id: String,
    /// What people call it.
    pub name: Option<String>,
    /// What it is good for.
    pub description: Option<String>,
}

/// The models of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models {
    /// The one in use, where the agent says.
    pub current: Option<String>,
    /// Those that there are.
    pub available: Vec<ModelInfo>,
    way: Way,
}

/// How another model is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Way {
    #[default]
    None,
    Method,
    Option(String),
}

impl Models {
    /// From the answer to a request that began a session.
    pub(crate) fn read(session: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let options = session["configOptions"].as_array().into_iter().flatten();
        let mut about_model =
            options.filter(|option| option["category"] == "model" || option["id"] == "model");
        if let Some(option) = about_model.find(|option| option["options"].is_array()) {
            let choices = option["options"].as_array().into_iter().flatten();
            // Choices may be in groups.
            let choices = choices.flat_map(|choice| match choice["options"].as_array() {
                Some(group) => group.iter().collect(),
                None => vec![choice],
            });
            return Self {
                current: text(&option["currentValue"]),
                available: choices.filter_map(|choice| info(choice, "value")).collect(),
                way: text(&option["id"]).map_or(Way::None, Way::Option),
            };
        }
        let models = &session["models"];
        let all = models["availableModels"].as_array();
        Self {
            current: text(&models["currentModelId"]),
            available: all
                .into_iter()
                .flatten()
                .filter_map(|model| info(model, "modelId"))
                .collect(),
            way: if models.is_object() {
                Way::Method
            } else {
                Way::None
            },
        }
    }

    /// Whether the agent can be told to use another.
    pub fn can_switch(&self) -> bool {
        self.way != Way::None
    }

    /// Whether another is chosen by an option of the session.
    pub fn is_option(&self) -> bool {
        matches!(self.way, Way::Option(_))
    }

    /// The request that chooses another.
    pub(crate) fn choose(&self, session: &str, model: &str) -> (&'static str, Value) {
        match &self.way {
            Way::Option(option) => (
                "session/set_config_option",
                json!({"sessionId": session, "configId": option, "value": model}),
            ),
            Way::None | Way::Method => (
                "session/set_model",
                json!({"sessionId": session, "modelId": model}),
            ),
        }
    }
}

fn info(model: &Value, id: &str) -> Option<ModelInfo> {
    let text = |name: &str| model[name].as_str().map(str::to_owned);
    Some(ModelInfo {
        id: text(id)?,
        name: text("name"),
        description: text("description"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_tell_models_are_understood() {
        let old = Models::read(&json!({"models": {"currentModelId": "a",
            "availableModels": [{"modelId": "a", "name": "A"}, {"modelId": "b"}]}}));
        assert_eq!((old.current.as_deref(), old.available.len()), (Some("a"), 2));
        assert_eq!(old.choose("s", "b").0, "session/set_model");
        let new = Models::read(
            &json!({"configOptions": [{"id": "m", "category": "model", "type": "select",
            "currentValue": "x", "options": [{"value": "x", "name": "X"}, {"group": "g", "options": [{"value": "y"}]}]}]}),
        );
        assert_eq!((new.current.as_deref(), new.available.len()), (Some("x"), 2));
        assert_eq!(new.choose("s", "y").1["configId"], "m");
        assert!(!Models::read(&json!({})).can_switch());
    }
}
