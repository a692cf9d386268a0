use super::*;
use serde_json::json;

fn schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["command"],
        "properties": {
            "command": {"type": "string"},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "timeout": {"type": "number", "minimum": 0},
            "range": {"type": "array", "items": {"type": "integer"}},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
            "lines": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 1}},
            "loose": {"oneOf": [{"type": "string"}, {"type": "array"}]},
            "count": {"type": "integer"},
            "force": {"type": "boolean"},
        }
    })
}

#[track_caller]
fn check_fit(arguments: Value, expected: Result<Value, &str>) {
    let Value::Object(fields) = arguments else {
        panic!("not an object")
    };
    let got = fit(fields, &schema()).map(|arguments| Value::Object(arguments.fields));
    assert_eq!(got, expected.map_err(str::to_owned));
}

#[test]
fn arguments_are_checked_against_the_schema() {
    check_fit(json!({"command": "ls"}), Ok(json!({"command": "ls"})));
    check_fit(
        json!({"command": "ls", "timeout": null}),
        Ok(json!({"command": "ls"})),
    );
    check_fit(
        json!({"command": "ls", "timeout": 1.5}),
        Ok(json!({"command": "ls", "timeout": 1.5})),
    );
    check_fit(json!({}), Err("`command` is missing"));
    check_fit(json!({"command": 7}), Err("`command` must be of type string"));
    check_fit(
        json!({"command": "ls", "timeout": -1}),
        Err("`timeout` must be at least 0"),
    );
    check_fit(
        json!({"command": "ls", "mode": "c"}),
        Err("`mode` must be one of a, b"),
    );
    check_fit(
        json!({"command": "ls", "cmd": "x"}),
        Err("`cmd` is not an argument of this tool"),
    );
    check_fit(
        json!({"command": "ls", "range": [1, "two"]}),
        Err("`range` has an item that must be of type integer"),
    );
    check_fit(
        json!({"command": "ls", "security_risk": "NONE"}),
        Err("`security_risk` must be one of UNKNOWN, LOW, MEDIUM, HIGH"),
    );
}

#[test]
fn what_models_often_get_wrong_is_mended() {
    check_fit(json!({"command": ["a", "b"]}), Ok(json!({"command": "ab"})));
    check_fit(
        json!({"command": "ls", "range": "[1, 2]"}),
        Ok(json!({"command": "ls", "range": [1, 2]})),
    );
    check_fit(
        json!({"command": "ls", "range": "[1, 2]</parameter>"}),
        Ok(json!({"command": "ls", "range": [1, 2]})),
    );
}

#[test]
fn a_value_that_only_looks_otherwise_is_taken_for_what_it_means() {
    for (name, given, meant) in [
        ("tags", json!("[\"a\", \"b\"]"), json!(["a", "b"])),
        ("lines", json!("[1, 2]"), json!([1, 2])),
        ("lines", json!(["1", 2.0]), json!([1, 2])),
        ("loose", json!("[1]"), json!("[1]")),
        ("loose", json!(["a"]), json!(["a"])),
        ("timeout", json!("30"), json!(30)),
        ("timeout", json!(" 0.5 "), json!(0.5)),
        ("count", json!("30"), json!(30)),
        ("count", json!(1.0), json!(1)),
        ("count", json!("-2.0"), json!(-2)),
        ("force", json!("True"), json!(true)),
    ] {
        check_fit(
            json!({"command": "ls", name: given}),
            Ok(json!({"command": "ls", name: meant})),
        );
    }
    for (name, given, problem) in [
        ("count", json!(1.5), "`count` must be of type integer"),
        ("count", json!("many"), "`count` must be of type integer"),
        ("timeout", json!("soon"), "`timeout` must be of type number"),
        ("tags", json!(7), "`tags` must be of type array or null"),
        (
            "lines",
            json!("[0]"),
            "`lines` has an item that must be at least 1",
        ),
    ] {
        check_fit(json!({"command": "ls", name: given}), Err(problem));
    }
}

#[test]
fn a_risk_under_a_mistaken_name_is_the_risk() {
    for name in ["security_risks", "securityRisk", "security-risk", "security_rist"] {
        let Value::Object(fields) = json!({"command": "ls", name: "HIGH"}) else {
            panic!()
        };
        let arguments = fit(fields, &schema()).unwrap();
        assert_eq!(
            (arguments.risk, arguments.fields.len()),
            (SecurityRisk::High, 1),
            "{name}"
        );
    }
    check_fit(
        json!({"command": "ls", "security_rules": "none"}),
        Err("`security_rules` is not an argument of this tool"),
    );
}

#[test]
fn risk_and_summary_are_taken_out() {
    let Value::Object(fields) = json!({"command": "ls", "security_risk": "LOW", "summary": "list"}) else {
        panic!()
    };
    let arguments = fit(fields, &schema()).unwrap();
    assert_eq!(arguments.risk, SecurityRisk::Low);
    assert_eq!(arguments.summary.as_deref(), Some("list"));
    assert_eq!(arguments.fields.len(), 1);
}

#[test]
fn raw_control_characters_are_let_pass() {
    assert_eq!(
        parse("{\"command\": \"a\nb\t\\\"c\\\"\"}").unwrap()["command"],
        "a\nb\t\"c\""
    );
    assert_eq!(parse("{\n\"command\":\n\"x\"}").unwrap()["command"], "x");
    assert_eq!(parse("").unwrap(), Map::new());
    assert_eq!(parse("[1]").unwrap(), Map::new());
    assert!(parse("{\"command\": ").is_err());
}

/// What is said of a value for the argument `x` with this schema; nothing if it fits.
#[track_caller]
fn check_x(schema: &Value, value: Value, expected: &str) {
    let shown = format!("{schema} {value}");
    let mut whole = json!({"type": "object", "required": ["x"], "properties": {"x": schema}});
    whole["$defs"] = json!({
        "Port": {"type": "integer", "maximum": 65535},
        "Server": {"type": "object", "required": ["port"], "properties": {"port": {"$ref": "#/$defs/Port"}}},
        "Tree": {"type": "object", "properties": {"below": {"items": {"$ref": "#/$defs/Tree"}}}, "required": ["name"]},
        "Itself": {"allOf": [{"$ref": "#/$defs/Itself"}, {"$ref": "#/$defs/Itself"}]},
    });
    let fields = Map::from_iter([("x".to_owned(), value)]);
    let problem = fit(fields, &whole).err().unwrap_or_default();
    let expected = match expected {
        "" => String::new(),
        problem => format!("`x` {problem}"),
    };
    assert_eq!(problem, expected, "{shown}");
}

#[test]
fn every_rule_of_a_schema_is_held_to() {
    let port = || json!({"type": "integer", "minimum": 1, "maximum": 65535});
    let ratio = || json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1});
    let name = || json!({"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 4});
    let list = || json!({"type": "array", "minItems": 1, "maxItems": 2, "items": {"enum": ["a", 1]}});
    let pair = || json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}});
    let server = || json!({"$ref": "#/$defs/Server"});
    let closed = || json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false});
    let counts = || json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let both = || json!({"allOf": [{"type": "integer"}, {"maximum": 3}]});
    let either = || json!({"anyOf": [{"$ref": "#/$defs/Port"}, {"const": "any"}]});
    let tree = || json!({"$ref": "#/$defs/Tree"});
    for (schema, value, expected) in [
        (port(), json!(80), ""),
        (port(), json!(99_999_999), "must be at most 65535"),
        (ratio(), json!(0.5), ""),
        (ratio(), json!(0), "must be more than 0"),
        (ratio(), json!(1), "must be less than 1"),
        (name(), json!("abc"), ""),
        (name(), json!("a"), "must have at least 2 characters"),
        (name(), json!("abcde"), "must have at most 4 characters"),
        (name(), json!("A B"), "must match the pattern ^[a-z]+$"),
        (json!({"const": "yes"}), json!("no"), "must be yes"),
        (json!({"const": 1}), json!(1), ""),
        (list(), json!(["a", 1]), ""),
        (list(), json!([]), "must have at least 1 items"),
        (list(), json!(["a", "a", "a"]), "must have at most 2 items"),
        (list(), json!(["b"]), "has an item that must be one of a, 1"),
        (pair(), json!(["a", 1]), ""),
        (
            pair(),
            json!(["a", "b"]),
            "has an item that must be of type integer",
        ),
        (server(), json!({"port": 80, "host": "h"}), ""),
        (server(), json!({"port": "80", "host": null}), ""),
        (server(), json!({}), "does not fit: `port` is missing"),
        (
            server(),
            json!({"port": 65_536}),
            "does not fit: `port` must be at most 65535",
        ),
        (closed(), json!({"a": 1}), ""),
        (
            closed(),
            json!({"b": 1}),
            "does not fit: `b` is not a field of it",
        ),
        (
            counts(),
            json!({"b": "c"}),
            "does not fit: `b` must be of type integer",
        ),
        (both(), json!(3), ""),
        (both(), json!(4), "must be at most 3"),
        (either(), json!(80), ""),
        (either(), json!("any"), ""),
        (either(), json!(65_536), "must be at most 65535, or must be any"),
        (tree(), json!({"name": "a", "below": [{"name": "b"}]}), ""),
        (
            tree(),
            json!({"name": "a", "below": [{}]}),
            "does not fit: `below` has an item that does not fit: `name` is missing",
        ),
        (json!(false), json!(1), "is not an argument of this tool"),
    ] {
        check_x(&schema, value, expected);
    }
}

#[test]
fn a_rule_that_cannot_be_used_forbids_nothing() {
    for schema in [
        json!({"pattern": "(?=a)["}),
        json!({"pattern": 7, "minLength": "two", "enum": "a", "anyOf": []}),
        json!({"$ref": "#/$defs/Nobody"}),
        json!({"$ref": "https://example.com/schema"}),
        json!({"$ref": "#/$defs/Itself"}),
        json!({"type": "whatever"}),
        json!({"properties": {"a": false}, "patternProperties": {}, "additionalProperties": false}),
        json!(true),
        json!("text"),
        json!(null),
    ] {
        check_x(&schema, json!("b"), "");
        check_x(&schema, json!({"b": 1}), "");
    }
}

#[test]
fn what_must_be_there_may_be_null_if_the_schema_says_so() {
    check_x(&json!({"type": ["string", "null"]}), json!(null), "");
    check_x(
        &json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        json!(null),
        "",
    );
    check_x(&json!({"type": "string"}), json!(null), "is missing");
    let schema = json!({"required": ["x"], "properties": {"x": {"type": ["string", "null"]}, "y": {"type": "string"}}});
    let fields = Map::from_iter(["x", "y"].map(|name| (name.to_owned(), Value::Null)));
    assert_eq!(
        Value::Object(fit(fields, &schema).unwrap().fields),
        json!({"x": null})
    );
}

#[test]
fn rules_for_the_whole_are_held_to() {
    let schema = json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    let fitted = |name: &str| fit(Map::from_iter([(name.to_owned(), json!(1))]), &schema);
    assert!(fitted("a").is_ok() && fitted("b").is_ok());
    assert_eq!(
        fitted("c").unwrap_err(),
        "the object does not fit: `a` is missing, or does not fit: `b` is missing"
    );
}
