//! Answers in a form that a program can read: more arguments for a tool, kept apart from its own.

use serde_json::{Map, Value, json};

/// Names that an answer may not have: every call has them already.
const RESERVED: [&str; 4] = ["kind", "security_risk", "structured_output", "summary"];

/// Why a schema cannot be added to a tool.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Give an object schema with properties.
    #[error("the response schema of '{tool}' must be an object with properties")]
    NoObject {
        /// The tool.
        tool: String,
    },
    /// Rename the property.
    #[error(
        "the response schema of '{tool}' may not have a property '{property}': the call has one of that name"
    )]
    Taken {
        /// The tool.
        tool: String,
        /// The property.
        property: String,
    },
    /// Leave it out, or set it to false.
    #[error("the response schema of '{tool}' may not allow additional properties")]
    Open {
        /// The tool.
        tool: String,
    },
    /// There is no such tool.
    #[error("there is no tool '{0}' to give a response schema to")]
    NoTool(String),
}

/// The arguments of a tool together with those of an answer.
pub(crate) fn merged(tool: &str, parameters: &Value, response: &Value) -> Result<Value, SchemaError> {
    let tool = || tool.to_owned();
    let properties = response.get("properties").and_then(Value::as_object);
    let properties = properties.ok_or_else(|| SchemaError::NoObject { tool: tool() })?;
    if response
        .get("additionalProperties")
        .is_some_and(|open| open != &json!(false))
    {
        return Err(SchemaError::Open { tool: tool() });
    }
    let mut merged = parameters.clone();
    let mut all = merged
        .get("properties")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for (name, schema) in properties {
        if RESERVED.contains(&name.as_str()) || all.contains_key(name) {
            return Err(SchemaError::Taken {
                tool: tool(),
                property: name.clone(),
            });
        }
        all.insert(name.clone(), schema.clone());
    }
    let required = |schema: &Value| {
        let required = schema.get("required").and_then(Value::as_array);
        required.cloned().unwrap_or_default()
    };
    let all_required: Vec<_> = [required(parameters), required(response)].concat();
    merged["properties"] = Value::Object(all);
    merged["required"] = json!(all_required);
    Ok(merged)
}

/// Takes the answer out of a call's arguments.
pub(crate) fn split(fields: &mut Map<String, Value>, response: &Value) -> Value {
    let names = response.get("properties").and_then(Value::as_object);
    let names = names.into_iter().flatten().map(|(name, _)| name);
    let answer = names.filter_map(|name| Some((name.clone(), fields.remove(name)?)));
    Value::Object(answer.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_asked_for_with_the_arguments_and_taken_apart_again() {
        let parameters =
            json!({"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]});
        let response =
            json!({"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]});
        let both = merged("finish", &parameters, &response).unwrap();
        assert_eq!(both["required"], json!(["message", "score"]));
        let mut fields = json!({"message": "done", "score": 3})
            .as_object()
            .unwrap()
            .clone();
        assert_eq!(split(&mut fields, &response), json!({"score": 3}));
        assert_eq!(Value::Object(fields), json!({"message": "done"}));
    }

    #[test]
    fn what_would_be_mistaken_is_refused() {
        let parameters = json!({"properties": {"message": {}}});
        for (response, expected) in [
            (json!({"type": "string"}), "must be an object"),
            (json!({"properties": {"message": {}}}), "'message'"),
            (json!({"properties": {"summary": {}}}), "'summary'"),
            (
                json!({"properties": {"a": {}}, "additionalProperties": true}),
                "additional",
            ),
        ] {
            let error = merged("finish", &parameters, &response).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
