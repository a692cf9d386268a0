//! Finding servers on this machine.

use std::time::Instant;

use deft_llm::{Ability, Found, LOCAL_PATIENCE, LocalKind, Place, Prices, discover};

use super::routes::Routes;
use super::*;

fn place(kind: LocalKind, address: &str) -> Place {
    Place {
        kind,
        address: address.to_owned(),
    }
}

async fn models(kind: LocalKind, server: &Routes) -> Vec<(String, Option<Tokens>, Option<Vec<Ability>>)> {
    let found: Vec<Found> = discover(vec![place(kind, &server.address)], Duration::from_secs(30)).await;
    let models = found.into_iter().next().unwrap().models.expect("found");
    assert!(models.iter().all(|model| model.prices == Some(Prices::FREE)));
    models
        .into_iter()
        .map(|model| (model.name, model.context_window, model.abilities))
        .collect()
}

#[tokio::test]
async fn each_kind_of_server_tells_its_models() {
    let show = |window: u64| json!({ "model_info": { "x.context_length": window }, "capabilities": ["tools", "vision"] });
    let ollama = Routes::start(vec![
        (
            "GET /api/tags",
            200,
            json!({ "models": [{ "name": "a:1b" }, { "name": "b:2b" }] }).to_string(),
        ),
        ("POST /api/show", 200, show(4096).to_string()),
        ("POST /api/show", 500, String::new()),
    ])
    .await;
    let found = models(LocalKind::Ollama, &ollama).await;
    assert_eq!(found.len(), 2);
    // The two are asked about at once: either may get either answer.
    let (known, unknown): (Vec<_>, Vec<_>) = found.into_iter().partition(|model| model.1.is_some());
    assert_eq!(known[0].1, Some(Tokens(4096)));
    assert_eq!(known[0].2, Some(vec![Ability::Tools, Ability::Vision]));
    assert_eq!((unknown[0].1, unknown[0].2.clone()), (None, None));
    assert!(known[0].0.starts_with("ollama/"));

    let studio = Routes::start(vec![(
        "GET /api/v0/models",
        200,
        json!({ "data": [{ "id": "m", "type": "llm", "max_context_length": 8192, "capabilities": ["tool_use"] }] }).to_string(),
    )])
    .await;
    let expected = (
        "lm_studio/m".to_owned(),
        Some(Tokens(8192)),
        Some(vec![Ability::Tools]),
    );
    assert_eq!(models(LocalKind::LmStudio, &studio).await, [expected]);

    let list = json!({ "data": [{ "id": "m", "max_model_len": 32_768 }] }).to_string();
    let plain = Routes::start(vec![("GET /v1/models", 200, list)]).await;
    for (kind, name) in [
        (LocalKind::Vllm, "vllm/m"),
        (LocalKind::LlamaCpp, "llamacpp/m"),
        (LocalKind::LmStudio, "lm_studio/m"),
    ] {
        assert_eq!(
            models(kind, &plain).await,
            [(name.to_owned(), Some(Tokens(32_768)), None)]
        );
    }
}

#[tokio::test]
async fn what_is_no_such_server_or_says_nothing_is_not_found_and_costs_little_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let other = Routes::start(vec![("GET /v1/models", 200, "<html></html>".to_owned())]).await;
    let kinds = [
        LocalKind::Ollama,
        LocalKind::LmStudio,
        LocalKind::LlamaCpp,
        LocalKind::Vllm,
    ];
    let mut places: Vec<_> = kinds.iter().map(|kind| place(*kind, &other.address)).collect();
    places.extend(kinds.iter().map(|kind| place(*kind, &silent)));
    places.push(place(LocalKind::Vllm, "no address"));
    let start = Instant::now();
    let found = discover(places.clone(), LOCAL_PATIENCE).await;
    assert_eq!(
        found.iter().map(|found| found.place.clone()).collect::<Vec<_>>(),
        places
    );
    assert!(found.iter().all(|found| found.models.is_none()), "{found:?}");
    // Two questions of 0.3 s one after the other, on a machine that may be busy.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}
