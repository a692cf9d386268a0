//! The table of all routes. What is not in it does not exist, and what is in it says who may use it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Ready, ready};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::handler::Handler;
use axum::http::header::ALLOW;
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};

use crate::app::App;
use crate::dormant;
use crate::failure::Failure;
use crate::routes::{
    acp, agent_profiles, allow_rules, answers, app, archive, bash, branches, budget, checkpoints, children,
    clones, confirmation, connections, context, control, conversations, devices, docs, entries, events,
    extensions, files, forge, gateway, git, goal, history, host_questions, mcp, mcp_logins, mcp_servers,
    meta_profiles, metrics, model, models, packages, plan, plugins, ports, profiles, project, queue, rerun,
    resources, rewind, secrets, server, settings, shares, sign_in, streams, subscription, tools, trajectory,
    trust, users, webhooks, workspace_files, workspaces,
};
use crate::{once, security, site};

/// How long a request may take until its answer begins, where an agent, a command or a large file is waited for.
const LONG_LIMIT: Duration = Duration::from_mins(30);

/// A conversation, and how the paths of all that is done with one begin.
const CONVERSATION: &str = "/api/conversations/{conversation_id}";

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody: it says nothing of anybody.
    Open,
    /// Everybody whose browser comes from or goes to a login elsewhere; where there is none, it does not exist.
    SignIn,
    /// Who has a key.
    Key,
    /// Who has a key, which may come as a bearer token.
    Bearer,
    /// Who has a key, or the cookie that lets a browser see files of workspaces.
    Workspace,
    /// Who has a link to a conversation.
    Guest,
    /// A WebSocket: who has a key, which may come with the first frame.
    Socket,
}

/// One route.
pub(crate) struct Route {
    method: Method,
    path: &'static str,
    access: Access,
    handler: MethodRouter<Arc<App>>,
}

impl Route {
    /// A route that reads.
    pub(crate) fn get<T: 'static>(
        path: &'static str,
        access: Access,
        handler: impl Handler<T, Arc<App>>,
    ) -> Self {
        Self {
            method: Method::GET,
            path,
            access,
            handler: on(MethodFilter::GET, handler),
        }
    }

    /// A route that changes something: only with a key.
    pub(crate) fn post<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<App>>) -> Self {
        Self {
            method: Method::POST,
            path,
            access: Access::Key,
            handler: on(MethodFilter::POST, handler),
        }
    }

    /// A route that changes something: with a key, which may come as a bearer token.
    pub(crate) fn bearer_post<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<App>>) -> Self {
        Self {
            access: Access::Bearer,
            ..Self::post(path, handler)
        }
    }

    /// A route that puts something in its place: only with a key.
    pub(crate) fn put<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<App>>) -> Self {
        Self {
            method: Method::PUT,
            path,
            access: Access::Key,
            handler: on(MethodFilter::PUT, handler),
        }
    }

    /// A route that changes a part of something: only with a key.
    pub(crate) fn patch<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<App>>) -> Self {
        Self {
            method: Method::PATCH,
            path,
            access: Access::Key,
            handler: on(MethodFilter::PATCH, handler),
        }
    }

    /// A route that removes something: only with a key.
    pub(crate) fn delete<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<App>>) -> Self {
        Self {
            method: Method::DELETE,
            path,
            access: Access::Key,
            handler: on(MethodFilter::DELETE, handler),
        }
    }
}

fn table() -> Vec<Route> {
    [
        server::table(),
        docs::table(),
        devices::table(),
        tools::table(),
        conversations::table(),
        control::table(),
        confirmation::table(),
        allow_rules::table(),
        host_questions::table(),
        trust::table(),
        answers::table(),
        branches::table(),
        checkpoints::table(),
        model::table(),
        goal::table(),
        queue::table(),
        budget::table(),
        context::table(),
        plan::table(),
        rerun::table(),
        rewind::table(),
        children::table(),
        clones::table(),
        settings::table(),
        secrets::table(),
        profiles::table(),
        acp::table(),
        agent_profiles::table(),
        meta_profiles::table(),
        connections::table(),
        workspaces::table(),
        models::table(),
        subscription::table(),
        files::table(),
        archive::table(),
        trajectory::table(),
        workspace_files::table(),
        entries::table(),
        ports::table(),
        resources::table(),
        git::table(),
        forge::table(),
        bash::table(),
        extensions::table(),
        packages::table(),
        plugins::table(),
        project::table(),
        mcp::table(),
        mcp_logins::table(),
        mcp_servers::table(),
        gateway::table(),
        events::table(),
        history::table(),
        streams::table(),
        shares::table(),
        sign_in::table(),
        app::table(),
        webhooks::table(),
        users::table(),
        metrics::table(),
        site::table(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Every route there is: its method, its path, and who may use it.
pub fn routes() -> Vec<(Method, &'static str, Access)> {
    let entry = |route: Route| (route.method, route.path, route.access);
    table().into_iter().map(entry).collect()
}

/// All of the server: who calls it by a name that is not its own gets nowhere, and everybody else to their own part.
pub(crate) fn router(app: Arc<App>) -> Router {
    let lead_home = middleware::from_fn_with_state(Arc::clone(&app), security::lead_home);
    let guard = middleware::from_fn_with_state(Arc::clone(&app), security::guard);
    part(app).layer(lead_home).layer(guard)
}

/// The part of one user: the routes, each with what says who may use it.
pub(crate) fn part(app: Arc<App>) -> Router {
    let mut router = Router::new();
    let mut refusing = BTreeSet::new();
    let init_key = app.users.init_key.clone();
    for route in table() {
        if route.path == dormant::PATH && init_key.is_some() {
            continue;
        }
        let may_come_again = route.path.starts_with(CONVERSATION) && route.method != Method::GET;
        let deletes = route.path == CONVERSATION && route.method == Method::DELETE; // and all notes with it
        let handler = if may_come_again && !deletes {
            let once = middleware::from_fn_with_state(Arc::clone(&app), once::once);
            route.handler.route_layer(once)
        } else {
            route.handler
        };
        let handler = match route.access {
            // The last two see for themselves.
            Access::Open | Access::SignIn | Access::Guest | Access::Socket => handler,
            Access::Key => handler.route_layer(middleware::from_fn_with_state(
                Arc::clone(&app),
                security::require_key,
            )),
            Access::Bearer => handler.route_layer(middleware::from_fn_with_state(
                Arc::clone(&app),
                security::require_key_or_token,
            )),
            Access::Workspace => handler.route_layer(middleware::from_fn_with_state(
                Arc::clone(&app),
                security::require_key_or_cookie,
            )),
        };
        let handler = match (route.access, &route.method) {
            // Without an upgrade there is nothing at the address of a socket.
            (Access::Socket, _) => handler.fallback(async || Failure::not_found()),
            (_, method) if is_api(route.path) => {
                let handler = if *method == Method::GET {
                    handler.on(MethodFilter::HEAD, no_method(route.path))
                } else {
                    handler
                };
                if refusing.insert(route.path) {
                    handler.fallback(no_method(route.path))
                } else {
                    handler // the path has one
                }
            }
            _ => handler,
        };
        router = router.route(route.path, handler);
    }
    if let Some(key) = init_key {
        router = router.route(dormant::PATH, dormant::awake(key));
    }
    router
        .fallback(async || Failure::not_found())
        .method_not_allowed_fallback(async || Failure::bare(StatusCode::METHOD_NOT_ALLOWED))
        .layer(DefaultBodyLimit::disable()) // each reader of bodies has its own
        .layer(middleware::from_fn_with_state(Arc::clone(&app), carry_out))
        .with_state(app)
}

/// Whether a path is for programs. Pages and documents can be asked about with HEAD, which the contract's API cannot.
fn is_api(path: &str) -> bool {
    const OUTSIDE: [&str; 4] = ["/alive", "/health", "/ready", "/server_info"];
    path.starts_with("/api/") || path.starts_with("/v1/") || OUTSIDE.contains(&path)
}

/// The methods of every path for programs, as a refusal of another names them.
static METHODS: LazyLock<BTreeMap<&str, String>> = LazyLock::new(|| {
    let mut methods = BTreeMap::<_, String>::new();
    for (method, path, _) in routes().into_iter().filter(|(_, path, _)| is_api(path)) {
        let before = methods.entry(path).or_default();
        if !before.is_empty() {
            before.push_str(", ");
        }
        before.push_str(method.as_str());
    }
    methods
});

/// Refuses a method. Where nothing is said of those that a path takes the framework names them, and HEAD with them.
fn no_method(path: &str) -> impl Fn() -> Ready<Response> + Clone + Send + Sync + 'static {
    let methods = METHODS.get(path).map_or("", String::as_str);
    move || {
        let refused = Failure::bare(StatusCode::METHOD_NOT_ALLOWED);
        ready(([(ALLOW, methods)], refused).into_response())
    }
}

/// Requests that wait for something with limits of its own: a model, a program, another server.
fn takes_long(method: &Method, path: &str) -> bool {
    const ENDINGS: [&str; 11] = [
        "/execute_bash_command",
        "/file/upload",
        "/git/push",
        "/ask_agent",
        "/condense",
        "/generate_title",
        "/install",
        "/refresh",
        "/plugins/fetch",
        "/acp/models",
        "/mcp/test",
    ];
    let begins = *method == Method::POST && path == "/api/conversations"; // a worktree, plugins
    begins
        || path.starts_with("/v1/")
        || path.starts_with("/api/mcp/oauth/")
        || ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// Does what is asked for, and gives up on what takes too long. A change is carried through even if the client
/// goes away meanwhile.
async fn carry_out(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (begun, method) = (Instant::now(), request.method().clone());
    let path = request.uri().path();
    let limit = if takes_long(&method, path) {
        LONG_LIMIT
    } else {
        app.users.request_limit
    };
    let answer = async {
        if request.method() == Method::GET {
            return next.run(request).await;
        }
        app.activity.note();
        let abandoned = app.users.abandoned.clone();
        let change = async move { abandoned.run_until_cancelled(next.run(request)).await };
        match app.tasks.spawn(change).await {
            Ok(Some(answer)) => answer,
            Ok(None) => Failure::bare(StatusCode::SERVICE_UNAVAILABLE).into_response(),
            Err(error) => {
                Failure::internal("the request failed; the server's log says why", &error).into_response()
            }
        }
    };
    let answer = tokio::time::timeout(limit, answer).await;
    let answer = answer.unwrap_or_else(|_| Failure::bare(StatusCode::REQUEST_TIMEOUT).into_response());
    app.metrics.answered(&method, answer.status(), begun.elapsed());
    answer
}
