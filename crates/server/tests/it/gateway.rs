//! Clients of the OpenAI API talk to an agent.

use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::desk::{Desk, KEY, Talk};

async fn with_profile(script: &str) -> Desk {
    let desk = Desk::new().await;
    let model = desk.script("gateway.yaml", script);
    desk.post("/api/profiles/p2", json!({"llm": {"model": model}}))
        .await;
    desk
}

/// Asks with the key as a bearer token, as clients of that API do.
async fn ask(desk: &Desk, path: &str, body: Value) -> reqwest::Response {
    let request = desk.request(Method::POST, path).bearer_auth(KEY);
    request.json(&body).send().await.unwrap()
}

fn events(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

#[tokio::test]
async fn a_chat_is_answered_whole_and_piece_by_piece() {
    let desk = with_profile("- text: Hello there.\n").await;
    let models = desk.get("/v1/models").await;
    let entry = json!({"id": "openhands_p2", "created": 0, "object": "model", "owned_by": "openhands"});
    assert_eq!(models, json!({"object": "list", "data": [entry]}));
    let mut body = json!({"model": "openhands_p2", "messages": [{"role": "user", "content": "hi"}]});
    let whole: Value = ask(&desk, "/v1/chat/completions", body.clone())
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(
        whole["choices"][0]["message"],
        json!({"content": "Hello there.", "role": "assistant"})
    );
    assert_eq!(whole["object"], "chat.completion");
    assert!(whole["usage"]["total_tokens"].as_u64().unwrap() > 0);
    body["stream"] = true.into();
    body["stream_options"] = json!({"include_usage": true});
    let streamed = ask(&desk, "/v1/chat/completions", body).await;
    assert_eq!(streamed.headers()["content-type"], "text/event-stream");
    let text = streamed.text().await.unwrap();
    assert!(text.ends_with("data: [DONE]\n\n"));
    let chunks = events(&text);
    let pieces: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(pieces, "Hello there.");
    assert!(chunks.last().unwrap()["usage"]["total_tokens"].as_u64().unwrap() > 0);
    let refused = desk
        .request(Method::GET, "/v1/models")
        .bearer_auth("wrong")
        .send()
        .await
        .unwrap();
    assert_eq!(refused.status(), 401);
}

#[tokio::test]
async fn a_chat_costs_its_answer_and_no_title() {
    // Scripted models are never asked for titles.
    const REPLY: &str = r#"data: {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices":
        [{"index": 0, "delta": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}"#;
    let reply = format!("{}\n\ndata: [DONE]\n\n", REPLY.replace('\n', " "));
    let answer = move || async move { ([("content-type", "text/event-stream")], reply) };
    let router = axum::Router::new().route("/v1/chat/completions", axum::routing::post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let _serving = AbortOnDropHandle::new(tokio::spawn(async { axum::serve(listener, router).await }));
    let desk = Desk::new().await;
    let llm = json!({"model": "openai/m", "api_key": "k", "base_url": format!("http://{address}/v1")});
    desk.post("/api/profiles/p2", json!({"llm": llm})).await;
    let body = json!({"model": "openhands_p2", "messages": [{"role": "user", "content": "hi"}]});
    let whole = ask(&desk, "/v1/chat/completions", body).await;
    let whole: Value = whole.json().await.unwrap();
    assert_eq!(whole["usage"]["total_tokens"], 110, "{whole}");
}

#[tokio::test]
async fn a_chat_names_its_conversation_and_can_be_gone_on_with() {
    const CONVERSATION: &str = "x-openhands-serverconversation-id";
    let desk = with_profile("- text: One.\n- text: Two.\n").await;
    let chat = |id: Option<String>, text: &str, stream: bool| {
        let mut request = desk
            .request(Method::POST, "/v1/chat/completions")
            .bearer_auth(KEY);
        if let Some(id) = id {
            request = request.header(CONVERSATION, id);
        }
        let messages = json!([{"role": "user", "content": "first"}, {"role": "user", "content": text}]);
        request.json(&json!({"model": "openhands_p2", "messages": messages, "stream": stream}))
    };
    let first = chat(None, "hi", false).send().await.unwrap();
    let id = first.headers()[CONVERSATION].to_str().unwrap().to_owned();
    let second = chat(Some(id.clone()), "and now?", true).send().await.unwrap();
    assert_eq!(second.headers()[CONVERSATION].to_str().unwrap(), id);
    assert!(second.text().await.unwrap().contains("Two."));
    let found = desk
        .get(&format!(
            "/api/conversations/{id}/events/search?kind=MessageEvent&source=user"
        ))
        .await;
    let said: Vec<_> = found["items"].as_array().unwrap().iter().collect();
    assert_eq!(said.len(), 2);
    assert_eq!(
        said[1]["llm_message"]["content"][0]["text"], "and now?",
        "what was said is not said again"
    );
    let nowhere = uuid::Uuid::nil().to_string();
    assert_eq!(
        chat(Some(nowhere), "hi", false).send().await.unwrap().status(),
        404
    );
    assert_eq!(
        chat(Some("x".to_owned()), "hi", false)
            .send()
            .await
            .unwrap()
            .status(),
        422
    );
}

#[tokio::test]
async fn a_response_can_be_gone_on_from() {
    let desk = with_profile("- text: First.\n- text: Second.\n").await;
    let body = json!({"model": "openhands_p2", "input": "hi", "instructions": "be brief"});
    let first: Value = ask(&desk, "/v1/responses", body).await.json().await.unwrap();
    assert_eq!(first["output"][0]["content"][0]["text"], "First.");
    assert_eq!(
        (&first["status"], &first["instructions"]),
        (&json!("completed"), &json!("be brief"))
    );
    let next = json!({"model": "openhands_p2", "input": "and?", "previous_response_id": first["id"], "stream": true});
    let text = ask(&desk, "/v1/responses", next).await.text().await.unwrap();
    let told = events(&text);
    assert_eq!(told[0]["type"], "response.created");
    let last = told.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], "Second.");
    assert_eq!(
        desk.get("/api/conversations/count").await,
        1,
        "it is the same conversation"
    );
    let nowhere = json!({"model": "openhands_p2", "input": "x", "previous_response_id": "resp_nope"});
    assert_eq!(ask(&desk, "/v1/responses", nowhere).await.status(), 404);
}

#[tokio::test]
async fn a_response_of_a_deleted_conversation_is_forgotten() {
    let desk = with_profile("- text: First.\n- text: Second.\n").await;
    let body = json!({"model": "openhands_p2", "input": "hi"});
    let first: Value = ask(&desk, "/v1/responses", body).await.json().await.unwrap();
    assert_eq!(desk.documents("responses/").await, 1);
    let found = desk.get("/api/conversations/search").await;
    let talk = Talk(found["items"][0]["id"].as_str().unwrap().to_owned());
    desk.ask(Method::DELETE, &talk.path(""), None).await;
    assert_eq!(desk.documents("responses/").await, 0);
    let next = json!({"model": "openhands_p2", "input": "and?", "previous_response_id": first["id"]});
    assert_eq!(ask(&desk, "/v1/responses", next).await.status(), 404);
}

const BOTH: [&str; 2] = ["/v1/chat/completions", "/v1/responses"];

/// What asks either API for the same.
fn asking(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "hi"}], "input": "hi"})
}

#[tokio::test]
async fn a_model_that_is_not_there_begins_nothing() {
    let desk = with_profile("- text: Hello there.\n").await;
    for path in BOTH {
        for (model, sentence) in [
            ("nope", "Unknown OpenHands model 'nope'. Use GET /v1/models."),
            ("openhands_nope", "Profile 'nope' not found"),
        ] {
            let answer = ask(&desk, path, asking(model)).await;
            assert_eq!(answer.status(), 404, "{path} {model}");
            let body: Value = answer.json().await.unwrap();
            assert_eq!(body, json!({ "detail": sentence }));
        }
    }
    assert_eq!(desk.get("/api/conversations/count").await, 0);
}

#[tokio::test]
async fn what_cannot_be_understood_begins_nothing_and_is_named() {
    let desk = with_profile("- text: Hello there.\n").await;
    let user = |content: Value| json!([{"role": "user", "content": content}]);
    for (path, field, value, status, place) in [
        (BOTH[0], "messages", json!([]), 400, Value::Null),
        (
            BOTH[0],
            "messages",
            json!([{"role": "system", "content": "x"}]),
            400,
            Value::Null,
        ),
        (BOTH[0], "messages", json!("hi"), 422, json!(["body", "messages"])),
        (
            BOTH[0],
            "messages",
            json!([{"role": "boss"}]),
            422,
            json!(["body", "messages", 0, "role"]),
        ),
        (
            BOTH[0],
            "messages",
            user(json!([{"type": "audio"}])),
            400,
            Value::Null,
        ),
        (
            BOTH[0],
            "messages",
            user(json!([{"type": "image_url"}])),
            400,
            Value::Null,
        ),
        (
            BOTH[0],
            "stream",
            json!("perhaps"),
            422,
            json!(["body", "stream"]),
        ),
        (BOTH[0], "model", json!(5), 422, json!(["body", "model"])),
        (BOTH[1], "input", json!(""), 400, Value::Null),
        (BOTH[1], "input", json!([]), 400, Value::Null),
        (
            BOTH[1],
            "input",
            user(json!([{"type": "input_file"}])),
            400,
            Value::Null,
        ),
        (
            BOTH[1],
            "metadata",
            json!({"a": 1}),
            422,
            json!(["body", "metadata", "a"]),
        ),
    ] {
        let mut body = asking("openhands_p2");
        body[field] = value.clone();
        let answer = ask(&desk, path, body).await;
        assert_eq!(answer.status(), status, "{path} {field}: {value}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["detail"][0]["loc"], place, "{path} {field}: {value}: {body}");
    }
    assert_eq!(desk.get("/api/conversations/count").await, 0);
}

#[tokio::test]
async fn a_provider_that_fails_is_told_in_the_form_of_each_api() {
    let desk = with_profile("- error: {status: 401, message: no such key}\n- text: too late\n").await;
    for path in BOTH {
        let answer = ask(&desk, path, asking("openhands_p2")).await;
        assert_eq!(answer.status(), 500, "{path}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["detail"], "Internal Server Error");
        let why = body["exception"].as_str().unwrap();
        assert!(
            why.starts_with("500: Agent run ended with status: error; see conversation "),
            "{why}"
        );
        let mut body = asking("openhands_p2");
        body["stream"] = true.into();
        let answer = ask(&desk, path, body).await;
        assert_eq!(answer.status(), 200, "{path}: it had begun");
        let text = answer.text().await.unwrap();
        let last = events(&text).pop().unwrap();
        let told = if path == BOTH[0] {
            assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
            &last["error"]
        } else {
            assert_eq!(
                (&last["type"], &last["response"]["status"]),
                (&json!("response.failed"), &json!("failed"))
            );
            &last["response"]["error"]
        };
        assert!(
            told["message"]
                .as_str()
                .unwrap()
                .contains("ended with status: error"),
            "{last}"
        );
        assert!(!text.contains("too late"));
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_told_behind_what_came_of_it() {
    let desk = with_profile("- {text: Hello there., cut_after: 6}\n").await;
    for path in BOTH {
        let mut body = asking("openhands_p2");
        body["stream"] = true.into();
        let text = ask(&desk, path, body).await.text().await.unwrap();
        let told = events(&text);
        let piece = |event: &Value| {
            let text = event["choices"][0]["delta"]["content"]
                .as_str()
                .or(event["delta"].as_str());
            text.map(str::to_owned)
        };
        assert_eq!(
            told.iter().filter_map(piece).collect::<String>(),
            "Hello ",
            "{text}"
        );
        let last = told.last().unwrap();
        let error = [&last["error"], &last["response"]["error"]];
        assert!(error.iter().any(|error| error["message"].is_string()), "{text}");
    }
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_a_conversation_that_ends() {
    let desk = with_profile("- {text: This takes its time to be written down., chunk_delay_ms: 60}\n").await;
    let mut body = asking("openhands_p2");
    body["stream"] = true.into();
    let mut answer = ask(&desk, BOTH[0], body).await;
    let mut seen = String::new();
    while !seen.contains("This takes") {
        let more = answer.chunk().await.unwrap().expect("it goes on");
        seen.push_str(&String::from_utf8_lossy(&more));
    }
    drop(answer);
    let found = desk.get("/api/conversations/search").await;
    let talk = Talk(found["items"][0]["id"].as_str().unwrap().to_owned());
    let info = desk.ended(&talk).await;
    assert_eq!(info["execution_status"], "finished");
}
