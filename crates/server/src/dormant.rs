//! A server that is started ahead of its use: it listens, and is told later how to serve, and whom.
//!
//! `POST /api/init` says it, with a key of its own. Until then everything else is refused; the connections of that time
//! are closed when the server proper takes the listener over.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Json, Router};
use deft_types::Secret;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use crate::app::App;
use crate::connections::{Connections, Patience};
use crate::extract::JsonBody;
use crate::failure::Failure;
use crate::init::Init;
use crate::routes::server::{alive, ready};
use crate::security::Hosts;

/// Where somebody says how to serve.
pub(crate) const PATH: &str = "/api/init";
const KEY_HEADER: &str = "x-init-api-key";
/// Who has a wrong key waits so long for the next try.
const WRONG_KEY_PAUSE: Duration = Duration::from_secs(1);

/// A server that waits to be told how to serve.
pub struct Dormant {
    address: IpAddr,
    key: Secret<String>,
}

/// What those who ask meanwhile have to do with.
struct Waiting {
    hosts: Hosts,
    key: Secret<String>,
    /// Whether somebody has said it, and why that could not be done.
    state: Mutex<(&'static str, Option<String>)>,
    asked: mpsc::Sender<Asked>,
}

struct Asked {
    init: Init,
    done: oneshot::Sender<Result<(), String>>,
}

impl Dormant {
    /// At an address, for who has the key.
    pub fn new(address: IpAddr, key: Secret<String>) -> Self {
        Self { address, key }
    }

    /// Waits until somebody says how to serve and `wake` can do it. `None`: it is to stop instead.
    pub async fn wait<T>(
        self,
        listener: &TcpListener,
        stop: impl Future<Output = ()>,
        wake: impl AsyncFn(Init) -> Result<T, String>,
    ) -> Option<T> {
        let (asked, mut asks) = mpsc::channel::<Asked>(1);
        let waiting = Arc::new(Waiting {
            hosts: Hosts::new(self.address, []),
            key: self.key,
            state: Mutex::new(("dormant", None)),
            asked,
        });
        let connections = Connections::new(router(Arc::clone(&waiting)), Patience::default());
        let awake = async {
            while let Some(Asked { init, done }) = asks.recv().await {
                match wake(init).await {
                    Ok(awake) => {
                        waiting.is_now("ready", None);
                        let _ = done.send(Ok(())); // whoever asked may have gone
                        return Some(awake);
                    }
                    Err(reason) => {
                        waiting.is_now("dormant", Some(reason.clone()));
                        let _ = done.send(Err(reason));
                    }
                }
            }
            None
        };
        let awake = tokio::select! {
            () = connections.accept(listener) => None,
            awake = awake => awake,
            () = stop => None,
        };
        connections.end().await;
        awake
    }
}

impl Waiting {
    fn is_now(&self, state: &'static str, error: Option<String>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (state, error);
    }

    fn state(&self) -> (&'static str, Option<String>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn router(waiting: Arc<Waiting>) -> Router {
    Router::new()
        .route("/alive", get(alive))
        .route("/health", get(alive))
        .route("/ready", get(ready))
        .route(PATH, get(status).post(init))
        .fallback(asleep)
        .layer(middleware::from_fn_with_state(Arc::clone(&waiting), guard))
        .with_state(waiting)
}

/// No page of another site, and no page at all: only programs wake a server.
async fn guard(State(waiting): State<Arc<Waiting>>, request: Request, next: Next) -> Response {
    if !waiting.hosts.admit(&request) {
        return Failure::bare(StatusCode::MISDIRECTED_REQUEST).into_response();
    }
    if request.headers().contains_key(header::ORIGIN) && !request.method().is_safe() {
        return Failure::new(StatusCode::FORBIDDEN, "Origin not allowed").into_response();
    }
    next.run(request).await
}

async fn status(State(waiting): State<Arc<Waiting>>) -> Json<Value> {
    let (state, error) = waiting.state();
    Json(json!({"state": state, "error": error}))
}

async fn init(
    State(waiting): State<Arc<Waiting>>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    check_key(&headers, &waiting.key).await?;
    let init = Init::read(&body)?;
    let (done, answer) = oneshot::channel();
    {
        let mut state = waiting.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 != "dormant" || waiting.asked.try_send(Asked { init, done }).is_err() {
            return Err(already(state.0));
        }
        *state = ("initializing", None);
    }
    match answer.await {
        Ok(Ok(())) => Ok(ready_state()),
        Ok(Err(reason)) => Err(Failure::new(StatusCode::BAD_REQUEST, reason)),
        Err(_) => Err(Failure::rewritten(
            StatusCode::SERVICE_UNAVAILABLE,
            "the server is stopping",
        )),
    }
}

async fn asleep(State(waiting): State<Arc<Waiting>>, uri: Uri) -> Failure {
    if uri.path().starts_with("/sockets/") {
        return Failure::bare(StatusCode::FORBIDDEN);
    }
    let reason = format!(
        "server is in deferred-init state '{}'; call POST {PATH} first",
        waiting.state().0
    );
    Failure::rewritten(StatusCode::SERVICE_UNAVAILABLE, &reason)
}

/// What a server answers that was woken with this key.
pub(crate) fn awake(key: Secret<String>) -> MethodRouter<Arc<App>> {
    let again = async move |headers: HeaderMap| match check_key(&headers, &key).await {
        Ok(()) => already("ready"),
        Err(refused) => refused,
    };
    get(async || ready_state()).post(again)
}

fn ready_state() -> Json<Value> {
    Json(json!({"state": "ready", "error": null}))
}

fn already(state: &str) -> Failure {
    Failure::new(
        StatusCode::BAD_REQUEST,
        format!("server already in state: {state}"),
    )
}

async fn check_key(headers: &HeaderMap, key: &Secret<String>) -> Result<(), Failure> {
    // Codes are compared, so that the time it takes tells nothing of the key.
    let code = |text: &[u8]| digest(&SHA256, text);
    let given = headers.get(KEY_HEADER).map(|given| code(given.as_bytes()));
    if given.is_some_and(|given| given.as_ref() == code(key.expose().as_bytes()).as_ref()) {
        return Ok(());
    }
    tokio::time::sleep(WRONG_KEY_PAUSE).await;
    Err(Failure::bare(StatusCode::UNAUTHORIZED))
}
