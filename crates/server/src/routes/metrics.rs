//! How the server is doing, for Prometheus.

use std::iter;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use deft_types::Status;

use crate::app::App;
use crate::failure::Failure;
use crate::metrics::Page;
use crate::router::{Access, Route};

const STATUSES: [Status; 7] = [
    Status::Idle,
    Status::Running,
    Status::Paused,
    Status::WaitingForConfirmation,
    Status::Finished,
    Status::Error,
    Status::Stuck,
];

pub(crate) fn table() -> Vec<Route> {
    vec![Route::get("/metrics", Access::Bearer, metrics)]
}

async fn metrics(State(app): State<Arc<App>>) -> Result<impl IntoResponse, Failure> {
    app.for_all()?;
    let mut page = Page::default();
    page.head("deft_build_info", "gauge", "What the program was built from.");
    let build = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("git_sha", &app.build.git_sha),
        ("git_ref", &app.build.git_ref),
    ];
    page.line("deft_build_info", &build, 1);
    page.gauge(
        "deft_uptime_seconds",
        "How long it runs.",
        app.started.elapsed().as_secs_f64(),
    );
    if let Some(bytes) = resident_bytes() {
        page.gauge("process_resident_memory_bytes", "Memory that it has.", bytes);
    }
    let name = "deft_conversations";
    page.head(
        name,
        "gauge",
        "Conversations in the store, by what they are doing.",
    );
    let users = app.users.directory.users();
    let owners = || iter::once(None).chain(users.iter().map(|user| Some(user.id)));
    for status in STATUSES {
        let mut count = 0;
        for owner in owners() {
            count += app.users.store.count(owner, Some(status)).await?;
        }
        page.line(name, &[("status", status.as_str())], count);
    }
    let (mut resident, mut running) = (0, 0);
    for app in app.users.apps() {
        let (in_memory, at_work) = app.conversations.load_figures();
        resident += in_memory;
        running += at_work;
    }
    let free = app.users.runs.available_permits();
    page.gauge(
        "deft_conversations_in_memory",
        "Conversations in memory.",
        resident,
    );
    page.gauge(
        "deft_conversations_running",
        "Conversations that run here.",
        running,
    );
    page.gauge(
        "deft_run_slots_free",
        "Conversations that may still begin to run.",
        free,
    );
    page.gauge("deft_sockets_open", "Sockets that are open.", app.sockets.len());
    app.metrics.write(&mut page);
    app.conversations.webhooks.write(&mut page);
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], page.0))
}

/// The memory of this process, as the system sees it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
