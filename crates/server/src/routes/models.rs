//! Which providers and models there are.

use std::collections::BTreeMap;

use axum::Json;
use serde_json::{Value, json};

use crate::extract::Query;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/llm/providers", Access::Key, providers),
        Route::get("/api/llm/models", Access::Key, models),
        Route::get("/api/llm/models/verified", Access::Key, by_provider),
    ]
}

async fn providers() -> Json<Value> {
    let mut names: Vec<_> = deft_llm::providers().map(|provider| provider.name).collect();
    names.sort_unstable();
    Json(json!({ "providers": names }))
}

async fn models(query: Query) -> Json<Value> {
    let wanted = query.get("provider").filter(|provider| !provider.is_empty());
    let known = deft_llm::known_models();
    let fits = |provider: &str| wanted.is_none_or(|wanted| wanted == provider);
    let names: Vec<_> = known
        .into_iter()
        .filter(|(_, provider)| fits(provider))
        .map(|(name, _)| name)
        .collect();
    Json(json!({ "models": names }))
}

/// Those whose limits and prices we know, by provider.
async fn by_provider() -> Json<Value> {
    let ours: Vec<_> = deft_llm::providers().map(|provider| provider.name).collect();
    let mut sorted: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (name, provider) in deft_llm::known_models() {
        if ours.contains(&provider.as_str()) {
            sorted.entry(provider).or_default().push(name);
        }
    }
    Json(json!({ "models": sorted }))
}
