//! A page that lists what the server can be asked, for people. It is made of our `OpenAPI` document, runs no program and
//! fetches nothing, from nowhere.

use std::sync::LazyLock;

use axum::http::header::{CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::response::{Html, IntoResponse};
use bytes::Bytes;
use serde_json::Value;

use crate::openapi::openapi;
use crate::router::{Access, Route};

const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Both names that the contract has for it.
pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/docs", Access::Open, page),
        Route::get("/redoc", Access::Open, page),
    ]
}

pub(crate) async fn page() -> impl IntoResponse {
    static PAGE: LazyLock<Bytes> = LazyLock::new(|| written(&openapi()).into());
    let headers = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, Html(PAGE.clone()))
}

fn written(document: &Value) -> String {
    let paths = document["paths"].as_object().into_iter().flatten();
    let rows: String = paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| row(method, path, operation))
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Deft: what the server can be asked</title>\n</head>\n<body>\n\
         <h1>What the server can be asked</h1>\n\
         <p>All of it, with the types of every field, is in <a href=\"openapi.json\">openapi.json</a>. \
         A key goes into the header <code>X-Session-API-Key</code>.</p>\n\
         <table>\n<thead><tr><th>method</th><th>path</th><th>who may ask</th><th>takes</th><th>answers</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n</body>\n</html>\n"
    )
}

fn row(method: &str, path: &str, operation: &Value) -> String {
    let query = operation["parameters"].as_array().into_iter().flatten();
    let query = query
        .filter(|parameter| parameter["in"] == "query")
        .filter_map(|parameter| parameter["name"].as_str());
    let body = fields(&operation["requestBody"]);
    let takes: Vec<_> = query.chain(body).collect();
    let answers = operation["responses"].as_object().into_iter().flatten();
    let answers: Vec<_> = answers.flat_map(|(_, answer)| fields(answer)).collect();
    let who = operation["security"].as_array().into_iter().flatten();
    let who: Vec<_> = who
        .filter_map(|way| way.as_object()?.keys().next())
        .map(String::as_str)
        .collect();
    let who = if who.is_empty() {
        "everybody".to_owned()
    } else {
        who.join(" or ")
    };
    format!(
        "<tr><td>{}</td><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        method.to_uppercase(),
        escaped(path),
        escaped(&who),
        escaped(&takes.join(", ")),
        escaped(&answers.join(", ")),
    )
}

/// The names of the fields that a body or an answer has.
fn fields(message: &Value) -> impl Iterator<Item = &str> {
    let fields = message["content"]["application/json"]["schema"]["properties"].as_object();
    fields.into_iter().flatten().map(|(name, _)| name.as_str())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}
