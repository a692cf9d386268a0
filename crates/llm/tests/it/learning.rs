//! Models whose server is asked about them with the first request.

use deft_llm::{Model, Prices};

use super::routes::{Answers, Routes};
use super::*;

const CHAT: &str = "POST /v1/chat/completions";

async fn asked(name: &str, mut answers: Answers) -> (Arc<dyn Model>, Value, Routes) {
    let said = event(&json!({ "content": "Hi" }), Some("stop"));
    answers.push((CHAT, 200, said));
    let server = Routes::start(answers).await;
    let model = open(name, &settings(format!("{}/v1", server.address))).unwrap();
    complete(&*model, request(), |_| ()).await.unwrap();
    let body = server.bodies(CHAT).remove(0);
    (model, body, server)
}

#[tokio::test]
async fn what_a_server_says_about_its_model_counts() {
    let vllm = json!({ "data": [{ "id": "other" }, { "id": "my/model", "max_model_len": 9_000 }] });
    let (model, body, server) = asked(
        "hosted_vllm/my/model",
        vec![("GET /v1/models", 200, vllm.to_string())],
    )
    .await;
    assert_eq!(model.profile().context_window, Some(Tokens(9_000)));
    assert_eq!(
        body["tools"][0]["function"]["name"], "terminal",
        "it says nothing of tools"
    );
    complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(server.bodies("GET /v1/models").len(), 1, "asked once");

    let studio =
        json!({ "data": [{ "id": "m", "type": "llm", "max_context_length": 4_096, "capabilities": [] }] });
    let (model, body, _server) = asked(
        "lm_studio/m",
        vec![("GET /api/v0/models", 200, studio.to_string())],
    )
    .await;
    assert_eq!(model.profile().context_window, Some(Tokens(4_096)));
    assert!(!model.profile().capabilities.native_tool_calls);
    assert_eq!(body.get("tools"), None, "calls are asked for in words");
    assert_eq!(body["stop"], json!(["</function>"]));

    let props = json!({
        "default_generation_settings": { "n_ctx": 8_192 }, "modalities": { "vision": false },
        "chat_template_caps": { "supports_tool_calls": true },
    });
    let one = json!({ "data": [{ "id": "model.gguf" }] });
    let answers = vec![
        ("GET /v1/models", 200, one.to_string()),
        ("GET /props", 200, props.to_string()),
    ];
    let (model, body, _server) = asked("llamacpp/any-name", answers).await;
    let profile = model.profile();
    assert_eq!(profile.context_window, Some(Tokens(8_192)));
    assert!(profile.capabilities.native_tool_calls && !profile.capabilities.vision);
    assert_eq!(body["model"], "any-name");
}

#[tokio::test]
async fn the_users_word_counts_more_and_a_server_that_says_nothing_is_no_obstacle() {
    let vllm = json!({ "data": [{ "id": "m", "max_model_len": 9_000 }] });
    let server = Routes::start(vec![
        ("GET /v1/models", 200, vllm.to_string()),
        (CHAT, 200, event(&json!({ "content": "Hi" }), Some("stop"))),
    ])
    .await;
    let mut settings = settings(format!("{}/v1", server.address));
    settings.tuning.context_window = Some(Tokens(5_000));
    settings.prices = Some(Prices::FREE);
    let model = open("vllm/m", &settings).unwrap();
    complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(model.profile().context_window, Some(Tokens(5_000)));

    let (model, _, _server) = asked("vllm/m", vec![]).await;
    assert_eq!(model.profile().context_window, None);
}
