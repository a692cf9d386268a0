//! A server that is started ahead of its use: it listens, and is told later how to serve, and whom.
//!
//! `POST /api/init` says it, with a key of its own. Until then it says what it is, and whatever else there is to ask is
//! refused; the connections of that time are closed when the server proper takes the listener over.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::{FromRequest as _, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, any, get, on};
use axum::{Json, Router};
use deft_types::Secret;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use crate::app::App;
use crate::config::{Build, Config};
use crate::connections::{Connections, Patience};
use crate::extract::{JsonBody, Peer};
use crate::failure::Failure;
use crate::init::Init;
use crate::router::{Access, routes};
use crate::routes::docs;
use crate::routes::server::{alive, described, document, ready};
use crate::security::{Guesses, Hosts, asked_for, note_wrong_key};

/// Where somebody says how to serve.
pub(crate) const PATH: &str = "/api/init";
const KEY_HEADER: &str = "x-init-api-key";

/// A server that waits to be told how to serve.
pub struct Dormant {
    key: Secret<String>,
    hosts: Hosts,
    guesses: Guesses,
    base_path: Option<String>,
    build: Build,
}

/// What those who ask meanwhile have to do with.
struct Waiting {
    dormant: Dormant,
    since: Instant,
    /// Whether somebody has said it, and why that could not be done.
    state: Mutex<(&'static str, Option<String>)>,
    asked: mpsc::Sender<Asked>,
}

struct Asked {
    init: Init,
    done: oneshot::Sender<Result<(), String>>,
}

impl Dormant {
    /// As it is set up so far, for who has the key.
    pub fn new(config: &Config, key: Secret<String>) -> Self {
        Self {
            key,
            hosts: Hosts::new(config.address, config.hosts.iter().cloned()),
            guesses: Guesses::new(config.max_wrong_keys),
            base_path: config.base_path.clone(),
            build: config.build.clone(),
        }
    }

    /// Waits until somebody says how to serve and `wake` can do it. `None`: it is to stop instead.
    pub async fn wait<T>(
        self,
        listener: &TcpListener,
        stop: impl Future<Output = ()>,
        wake: impl AsyncFn(Init) -> Result<T, String>,
    ) -> Option<T> {
        let (asked, mut asks) = mpsc::channel::<Asked>(1);
        let base_path = self.base_path.clone();
        let waiting = Arc::new(Waiting {
            dormant: self,
            since: Instant::now(),
            state: Mutex::new(("dormant", None)),
            asked,
        });
        let connections = Connections::new(router(Arc::clone(&waiting)), Patience::default());
        let connections = connections.below(base_path);
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

/// What says that the server is there, and the refusal of all that it will be able to do.
fn router(waiting: Arc<Waiting>) -> Router {
    let mut router = Router::new()
        .route("/alive", get(alive))
        .route("/health", get(alive))
        .route("/ready", get(ready))
        .route("/server_info", get(info))
        .route("/", get(info))
        .route("/openapi.json", get(document))
        .route("/docs", get(docs::page))
        .route("/redoc", get(docs::page))
        .route(PATH, get(status).post(init));
    for (method, path, access) in routes() {
        let handler = match (access, MethodFilter::try_from(method)) {
            _ if path == PATH => continue,
            (Access::Open, _) if !path.starts_with("/api/") => continue,
            (Access::Socket, _) => any(async || Failure::bare(StatusCode::FORBIDDEN)),
            (_, Ok(method)) => on(method, asleep),
            (_, Err(_)) => continue, // no such method is in the table
        };
        router = router.route(path, handler);
    }
    router
        .fallback(async || Failure::not_found())
        .method_not_allowed_fallback(async || Failure::bare(StatusCode::METHOD_NOT_ALLOWED))
        .layer(middleware::from_fn_with_state(Arc::clone(&waiting), guard))
        .with_state(waiting)
}

/// No page of another site, and no page at all: only programs wake a server.
async fn guard(State(waiting): State<Arc<Waiting>>, request: Request, next: Next) -> Response {
    if !waiting.dormant.hosts.admit(&request) {
        return Failure::bare(StatusCode::MISDIRECTED_REQUEST).into_response();
    }
    if request.headers().contains_key(header::ORIGIN) && !request.method().is_safe() {
        return Failure::new(StatusCode::FORBIDDEN, "Origin not allowed").into_response();
    }
    next.run(request).await
}

async fn info(State(waiting): State<Arc<Waiting>>) -> Json<Value> {
    let idle = waiting.since.elapsed();
    Json(described(idle, idle, &waiting.dormant.build, &[])) // there is nothing yet that could have tools
}

async fn status(State(waiting): State<Arc<Waiting>>) -> Json<Value> {
    let (state, error) = waiting.state();
    Json(json!({"state": state, "error": error}))
}

async fn init(State(waiting): State<Arc<Waiting>>, request: Request) -> Result<Json<Value>, Response> {
    let Dormant { key, guesses, .. } = &waiting.dormant;
    if let Some(refused) = refusal(&request, key, guesses) {
        return Err(refused);
    }
    let told = async {
        let JsonBody(body) = JsonBody::from_request(request, &()).await?;
        waiting.tell(Init::read(&body)?).await
    };
    told.await.map_err(Failure::into_response)
}

impl Waiting {
    /// Passes on how to serve, and waits for what comes of it.
    async fn tell(&self, init: Init) -> Result<Json<Value>, Failure> {
        let (done, answer) = oneshot::channel();
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.0 != "dormant" || self.asked.try_send(Asked { init, done }).is_err() {
                return Err(already(state.0));
            }
            *state = ("initializing", None);
        }
        let failed = |status, reason: &str| Err(Failure::rewritten(status, reason));
        match answer.await {
            Ok(Ok(())) => Ok(ready_state()),
            Ok(Err(reason)) => failed(StatusCode::INTERNAL_SERVER_ERROR, &reason),
            Err(_) => failed(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping"),
        }
    }
}

async fn asleep(State(waiting): State<Arc<Waiting>>) -> Failure {
    let reason = format!(
        "server is in deferred-init state '{}'; call POST {PATH} first",
        waiting.state().0
    );
    Failure::rewritten(StatusCode::SERVICE_UNAVAILABLE, &reason)
}

/// What a server answers that was woken with this key.
pub(crate) fn awake(key: Secret<String>) -> MethodRouter<Arc<App>> {
    let again = async move |State(app): State<Arc<App>>, request: Request| {
        let Some(refused) = refusal(&request, &key, &app.gate.guesses) else {
            return already("ready").into_response();
        };
        if let (StatusCode::UNAUTHORIZED, Some(Peer(from))) = (refused.status(), peer(&request)) {
            note_wrong_key(&app, from.ip(), asked_for(&request)).await;
        }
        refused
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

fn peer(request: &Request) -> Option<Peer> {
    request.extensions().get::<Peer>().copied()
}

/// Why somebody may not say how to serve; none: they have the key.
fn refusal(request: &Request, key: &Secret<String>, guesses: &Guesses) -> Option<Response> {
    let unknown = || Some(Failure::bare(StatusCode::UNAUTHORIZED).into_response());
    let Some(Peer(from)) = peer(request) else {
        return unknown();
    };
    let Some(given) = request.headers().get(KEY_HEADER) else {
        return unknown(); // to have none is no attempt to guess one
    };
    if guesses.are_too_many(from.ip()) {
        return Some(Guesses::refusal());
    }
    // Codes are compared, so that the time it takes tells nothing of the key.
    let code = |text: &[u8]| digest(&SHA256, text);
    if code(given.as_bytes()).as_ref() == code(key.expose().as_bytes()).as_ref() {
        return None;
    }
    guesses.note(from.ip());
    unknown()
}
