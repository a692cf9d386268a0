//! Our own `OpenAPI` document, made from the table of routes.
//!
//! What a route of the contract takes and answers is in `openapi/contract.json` (the names and types of its fields,
//! from the contract's document), what ours do in `openapi/own.json`; what both have in common in
//! `openapi/schemas.json`. A test asks a server and holds its answers against the document, of which the web app's types
//! are made.

use axum::http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use crate::router::{Access, routes};

const CONTRACT: &str = include_str!("openapi/contract.json");
const OWN: &str = include_str!("openapi/own.json");
const SCHEMAS: &str = include_str!("openapi/schemas.json");

/// What a route takes and answers.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Operation {
    /// The parameters behind the `?`, with their types.
    query: BTreeMap<String, Value>,
    query_required: Vec<String>,
    /// Headers that mean something to it.
    headers: Vec<String>,
    body: Option<Shape>,
    /// Where the body is not JSON.
    body_type: Option<String>,
    status: Option<u16>,
    /// The statuses of refusals that are its own; 401 and 403 can come from every route that wants a key.
    errors: Vec<u16>,
    answer: Option<Shape>,
    /// Where the answer is not JSON.
    answer_type: Option<String>,
}

/// A value, as far as its first fields.
#[derive(Deserialize)]
#[serde(untagged)]
enum Shape {
    Object {
        fields: Map<String, Value>,
        #[serde(default)]
        required: Vec<String>,
        #[serde(default)]
        nullable: bool,
    },
    List {
        items: Box<Shape>,
    },
    Plain {
        r#type: Value,
    },
}

impl Shape {
    fn schema(&self) -> Value {
        match self {
            Self::Object {
                fields,
                required,
                nullable,
            } => {
                let properties: Map<_, _> = fields
                    .iter()
                    .map(|(name, kind)| (name.clone(), typed(kind)))
                    .collect();
                let kind = if *nullable {
                    json!(["object", "null"])
                } else {
                    json!("object")
                };
                let mut schema = json!({"type": kind, "properties": properties});
                if !required.is_empty() {
                    schema["required"] = json!(required);
                }
                schema
            }
            Self::List { items } => json!({"type": "array", "items": items.schema()}),
            Self::Plain { r#type } => typed(r#type),
        }
    }
}

/// `true` is anything, a name with a capital letter one of the schemas, and `[]` behind it a list.
fn typed(kind: &Value) -> Value {
    let Value::String(name) = kind else {
        return match kind {
            Value::Bool(_) => json!({}),
            kinds => json!({ "type": kinds }),
        };
    };
    match name.strip_suffix("[]") {
        Some(item) => json!({"type": "array", "items": typed(&item.into())}),
        None if name.starts_with(|first: char| first.is_ascii_uppercase()) => {
            json!({"$ref": format!("#/components/schemas/{name}")})
        }
        None => json!({ "type": name }),
    }
}

/// The document. Sockets have no place in one, and neither have the pages of the web app.
pub fn openapi() -> Value {
    let mut shapes: BTreeMap<String, Operation> = serde_json::from_str(CONTRACT).unwrap_or_default();
    let own: BTreeMap<String, Operation> = serde_json::from_str(OWN).unwrap_or_default();
    let schemas: Value = serde_json::from_str(SCHEMAS).unwrap_or_default();
    shapes.extend(own);
    let shapes: BTreeMap<String, Operation> = shapes
        .into_iter()
        .map(|(name, shape)| (unnamed(&name), shape))
        .collect();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for (method, path, access) in routes() {
        let none = Operation::default();
        let shape = shapes.get(&unnamed(&format!("{method} {path}")));
        if access == Access::Socket || shape.is_none() && access == Access::Open {
            continue;
        }
        let operation = operation(&method, path, access, shape.unwrap_or(&none));
        paths
            .entry(path)
            .or_default()
            .insert(method.as_str().to_lowercase(), operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Deft", "version": env!("CARGO_PKG_VERSION")},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {
            "share": {"type": "apiKey", "in": "header", "name": "X-Share-Token"},
            "key": {"type": "apiKey", "in": "header", "name": "X-Session-API-Key"},
            "bearer": {"type": "http", "scheme": "bearer"},
            "cookie": {"type": "apiKey", "in": "cookie", "name": "oh_workspace_session_key"},
        }},
    })
}

fn operation(method: &Method, path: &str, access: Access, shape: &Operation) -> Value {
    let in_path = parameters(path)
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
    let in_query = shape.query.iter().map(|(name, kind)| {
        let required = shape.query_required.contains(name);
        json!({"name": name, "in": "query", "required": required, "schema": typed(kind)})
    });
    let in_headers = shape
        .headers
        .iter()
        .map(|name| json!({"name": name, "in": "header", "required": false, "schema": {"type": "string"}}));
    let parameters: Vec<_> = in_path.chain(in_query).chain(in_headers).collect();
    let security = match access {
        Access::Open | Access::SignIn | Access::Socket => json!([]),
        Access::Guest => json!([{"share": []}]),
        Access::Key => json!([{"key": []}]),
        Access::Bearer => json!([{"key": []}, {"bearer": []}]),
        Access::Workspace => json!([{"key": []}, {"cookie": []}]),
    };
    let content = |kind: &Option<String>, shape: &Option<Shape>| match (kind, shape) {
        (Some(kind), _) => Some(json!({ kind: {} })),
        (None, Some(shape)) => Some(json!({"application/json": {"schema": shape.schema()}})),
        (None, None) => None,
    };
    let mut answer = json!({"description": "It was done."});
    if let Some(content) = content(&shape.answer_type, &shape.answer) {
        answer["content"] = content;
    }
    let status = shape.status.unwrap_or(200).to_string();
    let id: Vec<_> = path
        .split(['/', '{', '}', '-', '.'])
        .filter(|part| !part.is_empty())
        .collect();
    let slash = if path.len() > 1 && path.ends_with('/') {
        "_"
    } else {
        ""
    };
    let refusal = json!({"description": "It was refused; `detail` says why.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}});
    let mut responses: Map<_, _> = shape
        .errors
        .iter()
        .map(|status| (status.to_string(), refusal.clone()))
        .collect();
    responses.insert(status, answer);
    let mut operation = json!({
        "operationId": format!("{}_{}{slash}", method.as_str().to_lowercase(), id.join("_")),
        "security": security,
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(content) = content(&shape.body_type, &shape.body) {
        operation["requestBody"] = json!({ "content": content });
    }
    operation
}

/// The names in a path.
fn parameters(path: &str) -> impl Iterator<Item = &str> {
    let name = |part: &str| {
        part.starts_with('{')
            .then(|| part.trim_matches(['{', '}', '*']).len())
    };
    path.split('/')
        .filter(move |part| name(part).is_some())
        .map(|part| part.trim_matches(['{', '}', '*']))
}

/// A method and a path without the names of its parameters, which each document chooses for itself.
fn unnamed(operation: &str) -> String {
    let part = |part: &str| {
        if part.starts_with('{') {
            "{}".to_owned()
        } else {
            part.to_owned()
        }
    };
    operation.split('/').map(part).collect::<Vec<_>>().join("/")
}
