//! OpenAI's login server and the models of subscriptions on this machine, in the formats of the real ones.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use serde_json::{Value, json};

#[derive(Clone)]
pub(crate) struct ChatGpt(Arc<Inner>);

struct Inner {
    address: SocketAddr,
    state: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    has_agreed: bool,
    /// How long the tokens are good that are given next.
    lifetime: u64,
    /// How many tokens were given, and how many of them for older ones.
    given: u32,
    refreshed: u32,
    refuses: bool,
    /// What models were asked: the headers and the body.
    asked: Vec<(HeaderMap, Value)>,
}

impl ChatGpt {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let state = Known {
            lifetime: 3600,
            ..Known::default()
        };
        let chatgpt = Self(Arc::new(Inner {
            address: listener.local_addr().unwrap(),
            state: Mutex::new(state),
        }));
        let router = Router::new()
            .route("/api/accounts/deviceauth/usercode", post(user_code))
            .route("/api/accounts/deviceauth/token", post(device_token))
            .route("/oauth/token", post(token))
            .route("/backend-api/codex/responses", post(responses))
            .with_state(chatgpt.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        chatgpt
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.0.address)
    }

    /// The person has typed the code.
    pub(crate) fn agree(&self) {
        self.state().has_agreed = true;
    }

    /// How long tokens are good from now on, in seconds.
    pub(crate) fn give_for(&self, lifetime: u64) {
        self.state().lifetime = lifetime;
    }

    /// No token is renewed any more.
    pub(crate) fn refuse(&self) {
        self.state().refuses = true;
    }

    /// How many tokens were renewed.
    pub(crate) fn refreshed(&self) -> u32 {
        self.state().refreshed
    }

    /// What models were asked since the last time.
    pub(crate) fn asked(&self) -> Vec<(HeaderMap, Value)> {
        std::mem::take(&mut self.state().asked)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.state.lock().unwrap()
    }
}

async fn user_code(Json(sent): Json<Value>) -> Json<Value> {
    assert!(sent["client_id"].is_string());
    Json(json!({"device_auth_id": "deviceauth_1", "user_code": "ABCD-1234", "interval": "2"}))
}

async fn device_token(State(chatgpt): State<ChatGpt>, Json(sent): Json<Value>) -> Response {
    assert_eq!(
        sent,
        json!({"device_auth_id": "deviceauth_1", "user_code": "ABCD-1234"})
    );
    if !chatgpt.state().has_agreed {
        return StatusCode::FORBIDDEN.into_response();
    }
    Json(json!({"authorization_code": "code-1", "code_verifier": "verifier-1", "code_challenge": "c"}))
        .into_response()
}

async fn token(State(chatgpt): State<ChatGpt>, body: String) -> Response {
    let form: HashMap<_, _> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let mut state = chatgpt.state();
    match form["grant_type"].as_str() {
        "authorization_code" => {
            assert_eq!(form["code"], "code-1");
            assert_eq!(form["code_verifier"], "verifier-1");
            let callback = format!("{}/deviceauth/callback", chatgpt.url());
            assert_eq!(form["redirect_uri"], callback);
        }
        "refresh_token" if state.refuses => return StatusCode::UNAUTHORIZED.into_response(),
        "refresh_token" => {
            assert_eq!(form["refresh_token"], format!("refresh-{}", state.given));
            state.refreshed += 1;
        }
        other => panic!("{other}"),
    }
    state.given += 1;
    let claims =
        json!({"https://api.openai.com/auth": {"chatgpt_account_id": "account-1"}, "jti": state.given});
    let identity = json!({"email": "ada@example.com"});
    let signed = |claims: &Value| format!("e30.{}.c2ln", BASE64URL.encode(claims.to_string()));
    Json(
        json!({"access_token": signed(&claims), "id_token": signed(&identity),
        "refresh_token": format!("refresh-{}", state.given), "expires_in": state.lifetime}),
    )
    .into_response()
}

/// Answers with text. The items come one by one, and the last event has none of them.
async fn responses(
    State(chatgpt): State<ChatGpt>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> impl IntoResponse {
    chatgpt.state().asked.push((headers, body));
    let item = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "paid by subscription", "annotations": []}]});
    let usage = json!({"input_tokens": 10, "output_tokens": 3, "total_tokens": 13});
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": [], "usage": usage}}),
    ];
    let written: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    ([(header::CONTENT_TYPE, "text/event-stream")], written)
}
