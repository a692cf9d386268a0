//! The Ollama adapter against real servers on real sockets: ours, and one we did not write.

use deft_types::Money;

use super::aimock::Aimock;
use super::routes::Routes;
use super::*;

const NAME: &str = "ollama/qwen3:8b";
const SHOW: &str = "POST /api/show";
const CHAT: &str = "POST /api/chat";

fn keyless(base_url: String) -> ModelSettings {
    ModelSettings {
        api_key: None,
        ..settings(base_url)
    }
}

fn shown() -> String {
    json!({
        "model_info": { "general.architecture": "qwen3", "qwen3.context_length": 40_960 },
        "capabilities": ["completion", "tools", "thinking"],
    })
    .to_string()
}

fn said(text: &str) -> String {
    let piece = json!({ "message": { "role": "assistant", "content": text }, "done": false });
    let end = json!({ "done": true, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 2 });
    format!("{piece}\n{end}\n")
}

#[tokio::test]
async fn the_first_request_learns_the_context_size_and_every_request_sets_it() {
    let server = Routes::start(vec![(SHOW, 200, shown()), (CHAT, 200, said("Hi"))]).await;
    let model = open(NAME, &keyless(server.address.clone())).unwrap();
    assert_eq!(model.profile().context_window, None);
    assert_eq!(
        server.bodies(SHOW).len(),
        0,
        "nothing is asked before the first call"
    );
    for _ in 0..2 {
        let reply = complete(&*model, request(), |_| ()).await.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.finish, reply.cost),
            ("Hi", FinishReason::Stop, Some(Money::ZERO))
        );
        assert_eq!(
            (reply.usage.prompt, reply.usage.completion),
            (Tokens(9), Tokens(2))
        );
    }
    assert_eq!(model.profile().context_window, Some(Tokens(32_768)));
    assert!(!model.profile().capabilities.vision);
    assert_eq!(server.bodies(SHOW), [json!({ "model": "qwen3:8b" })]);
    let sent = server.bodies(CHAT);
    assert_eq!(sent.len(), 2);
    for body in sent {
        assert_eq!(
            body["options"],
            json!({ "num_ctx": 32_768, "num_predict": 16_384 })
        );
        assert_eq!((&body["think"], &body["truncate"]), (&json!(true), &json!(false)));
    }
}

#[tokio::test]
async fn a_model_that_calls_no_tools_is_prompted_from_its_first_request_on_and_recorded_as_such() {
    let shown = json!({ "model_info": { "llama.context_length": 8_192 }, "capabilities": ["completion"] });
    let call = "<function=terminal>\n<parameter=command>ls</parameter>\n</function>";
    let server = Routes::start(vec![(SHOW, 200, shown.to_string()), (CHAT, 200, said(call))]).await;
    let directory = tempfile::tempdir().unwrap();
    let cassette = directory.path().join("run.jsonl");
    let name = format!("record:{}:{NAME}", cassette.display());
    let model = open(&name, &keyless(server.address.clone())).unwrap();
    let reply = complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    assert_eq!(reply.tool_calls[0].name, "terminal");
    let sent = &server.bodies(CHAT)[0];
    assert!(sent.get("tools").is_none(), "{sent}");
    assert!(sent["messages"][0].to_string().contains("<function="), "{sent}");

    let played = open(
        &format!("replay:{}", cassette.display()),
        &ModelSettings::default(),
    )
    .unwrap();
    for profile in [model.profile(), played.profile()] {
        assert_eq!(profile.context_window, Some(Tokens(8_192)));
        assert!(!profile.capabilities.native_tool_calls);
    }
    assert_eq!(model.profile().name, name);
}

#[tokio::test]
async fn a_model_that_is_not_there_is_told_with_how_to_get_it() {
    let missing = json!({ "error": "model 'qwen3:8b' not found" }).to_string();
    let server = Routes::start(vec![(SHOW, 404, missing)]).await;
    let model = open(NAME, &keyless(server.address.clone())).unwrap();
    let error = complete(&*model, request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::BadRequest { .. }), "{error:?}");
    assert!(error.to_string().contains("`ollama pull qwen3:8b`"), "{error}");
}

#[tokio::test]
async fn a_failure_to_learn_is_tried_again_with_the_next_request() {
    let broken = json!({ "error": "starting" }).to_string();
    let server = Routes::start(vec![
        (SHOW, 503, broken),
        (SHOW, 200, shown()),
        (CHAT, 200, said("Hi")),
    ])
    .await;
    let model = open(NAME, &keyless(server.address.clone())).unwrap();
    let error = complete(&*model, request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::Overloaded { .. }), "{error:?}");
    complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(model.profile().context_window, Some(Tokens(32_768)));
}

#[tokio::test]
async fn a_key_that_the_server_echoes_when_asked_about_the_model_is_not_shown() {
    let refused = json!({ "error": format!("unknown key {KEY}") }).to_string();
    let server = Routes::start(vec![(SHOW, 401, refused)]).await;
    let model = open(NAME, &settings(server.address.clone())).unwrap();
    let error = complete(&*model, request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::Authentication { .. }), "{error:?}");
    assert!(error.to_string().contains("unknown key **********"), "{error}");
}

#[tokio::test]
async fn what_does_not_fit_is_a_matter_of_the_context_window() {
    let too_long = json!({ "error": "the input length exceeds the context length" }).to_string();
    let server = Routes::start(vec![(SHOW, 200, shown()), (CHAT, 400, too_long)]).await;
    let model = open(NAME, &keyless(server.address.clone())).unwrap();
    let error = complete(&*model, request(), |_| ()).await.unwrap_err();
    assert!(
        matches!(error, ModelError::ContextWindowExceeded { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_server_that_is_not_running_is_said_to_be_so() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let model = open(NAME, &keyless(address)).unwrap();
    let error = complete(&*model, request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::Network { .. }), "{error:?}");
    assert!(error.to_string().contains("Is the server running?"), "{error}");
}

#[tokio::test]
async fn an_independent_server_understands_us_and_we_it() {
    let fixtures = json!({ "fixtures": [
        { "match": { "userMessage": "Hello?" }, "response": {
            "content": "Let me look.", "toolCalls": [{ "name": "terminal", "arguments": { "command": "ls" } }],
        } },
    ] });
    let Some(aimock) = Aimock::start(&fixtures) else {
        return;
    };
    // It does not know `/api/show`, as a server that only looks like Ollama.
    let model = open(NAME, &keyless(aimock.url().to_owned())).unwrap();
    let reply = complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("Let me look.", FinishReason::ToolCalls)
    );
    let call = &reply.tool_calls[0];
    assert_eq!(
        (call.name.as_str(), call.arguments.as_str()),
        ("terminal", "{\"command\":\"ls\"}")
    );
    assert!(call.id.starts_with("call_"), "{}", call.id);
}
