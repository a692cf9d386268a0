use super::*;

/// The schema of the one argument `x`, cleaned.
fn argument(schema: &Value) -> Value {
    let arguments = json!({ "type": "object", "properties": { "x": schema } });
    of_arguments(&arguments).unwrap()["properties"]["x"].clone()
}

#[test]
fn each_keyword_becomes_what_gemini_takes() {
    let cases = [
        (
            "keywords it does not know are dropped",
            json!({ "type": "string", "title": "X", "default": "a", "examples": ["a"], "minLength": 1, "format": "uri" }),
            json!({ "minLength": 1, "type": "string" }),
        ),
        (
            "a format it knows stays",
            json!({ "type": "string", "format": "date-time" }),
            json!({ "format": "date-time", "type": "string" }),
        ),
        (
            "null among the types",
            json!({ "type": ["integer", "null"], "minimum": 1 }),
            json!({ "minimum": 1, "nullable": true, "type": "integer" }),
        ),
        (
            "several types",
            json!({ "type": ["integer", "string"], "description": "D" }),
            json!({ "description": "D", "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        ),
        (
            "something or null",
            json!({ "anyOf": [{ "type": "array", "items": { "type": "integer" } }, { "type": "null" }], "description": "D" }),
            json!({ "description": "D", "nullable": true, "type": "array", "items": { "type": "integer" } }),
        ),
        (
            "one of several, or null",
            json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }] }),
            json!({ "anyOf": [{ "type": "string", "nullable": true }, { "type": "integer", "nullable": true }] }),
        ),
        (
            "an enumeration",
            json!({ "enum": ["a", "", "b", null] }),
            json!({ "nullable": true, "type": "string", "enum": ["a", "b"] }),
        ),
        (
            "an enumeration of numbers",
            json!({ "type": "integer", "enum": [1, 2], "description": "D." }),
            json!({ "description": "D. One of: 1, 2.", "type": "integer" }),
        ),
        (
            "a constant",
            json!({ "const": "a" }),
            json!({ "type": "string", "enum": ["a"] }),
        ),
        (
            "an array of anything",
            json!({ "type": "array" }),
            json!({ "type": "array", "items": { "type": "string" } }),
        ),
        (
            "a tuple",
            json!({ "type": "array", "items": [{ "type": "integer" }, { "type": "string" }] }),
            json!({ "type": "array", "items": { "type": "integer" } }),
        ),
        (
            "an object of anything",
            json!({ "type": "object", "properties": {}, "additionalProperties": true }),
            json!({ "type": "object" }),
        ),
        ("anything", json!({}), json!({ "type": "string" })),
        ("anything, in short", json!(true), json!({ "type": "string" })),
        (
            "all of several",
            json!({ "allOf": [
                { "properties": { "a": { "type": "string" } }, "required": ["a"] },
                { "properties": { "b": { "type": "integer" } }, "required": ["b", "c"] },
            ] }),
            json!({
                "properties": { "a": { "type": "string" }, "b": { "type": "integer" } },
                "required": ["a", "b"], "type": "object",
            }),
        ),
    ];
    for (what, schema, expected) in cases {
        assert_eq!(argument(&schema), expected, "{what}");
    }
}

#[test]
fn references_are_written_out_and_circles_end() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": { "node": { "$ref": "#/$defs/Node", "description": "The root." }, "lost": { "$ref": "#/$defs/Lost" } },
        "required": ["node", "nowhere"],
        "additionalProperties": false,
        "$defs": { "Node": { "type": "object", "description": "A node.", "properties": {
            "name": { "type": "string" }, "child": { "$ref": "#/$defs/Node" },
        } } },
    });
    let cleaned = of_arguments(&schema).unwrap();
    assert_eq!(cleaned["required"], json!(["node"]));
    assert_eq!(cleaned["properties"]["lost"], json!({ "type": "string" }));
    let node = &cleaned["properties"]["node"];
    assert_eq!(node["description"], "The root.");
    assert_eq!(
        node["properties"]["child"]["properties"]["name"],
        json!({ "type": "string" })
    );
    let text = cleaned.to_string();
    assert!(
        !text.contains('$') && !text.contains("additionalProperties"),
        "{text}"
    );
    assert!(text.len() < 10_000);
}

#[test]
fn a_tool_without_arguments_has_no_schema() {
    for schema in [
        json!({ "type": "object", "properties": {} }),
        json!({ "type": "object" }),
        json!({}),
    ] {
        assert_eq!(of_arguments(&schema), None, "{schema}");
    }
}
