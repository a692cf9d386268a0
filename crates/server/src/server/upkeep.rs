//! What a server does by itself from time to time.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::security::REFRESH;

/// The shortest time between two looks for idle conversations.
const SHORTEST_SWEEP: Duration = Duration::from_millis(100);
/// How often old entries of the audit log are taken away.
const TIDY_EVERY: Duration = Duration::from_hours(24);

/// Looks after conversations that a dead server left behind, then unloads idle ones from time to time, and sees who may
/// still use the server.
pub(super) async fn upkeep(app: Arc<App>, stopping: CancellationToken) {
    let users = &app.users;
    let look_after = async {
        users.directory.refresh().await;
        app.conversations.recover().await;
        users.webhooks.recover().await;
        for user in users.directory.users() {
            if let Some(home) = users.home(user.id) {
                home.app.conversations.recover().await;
            }
        }
        let mut looks = tokio::time::interval(app.conversations.sweep_interval().max(SHORTEST_SWEEP));
        loop {
            looks.tick().await;
            for app in users.apps() {
                for id in app.conversations.unload_idle().await {
                    if !app.bash.is_running(id) {
                        app.bash.unload(id);
                        app.conversations.pause_workspace(id).await;
                    }
                }
            }
        }
    };
    let refresh = async {
        let mut looks = tokio::time::interval(REFRESH);
        loop {
            looks.tick().await;
            users.directory.refresh().await;
            users.stop_disabled();
        }
    };
    let tidy = async {
        let mut days = tokio::time::interval(TIDY_EVERY);
        loop {
            days.tick().await;
            match users.composition.collect_orphans(users.store.as_ref()).await {
                Ok(removed) if removed.is_empty() => {}
                Ok(removed) => tracing::info!(?removed, "workspaces that nobody uses were removed"),
                Err(error) => tracing::warn!(%error, "workspaces that nobody uses cannot be looked for"),
            }
            if let Err(error) = users.audit.tidy().await {
                tracing::warn!(%error, "the audit log cannot be tidied");
            }
            for app in users.apps() {
                if let Err(error) = app.bash.tidy().await {
                    tracing::warn!(%error, "old commands cannot be taken out of the store");
                }
            }
        }
    };
    let work = Box::pin(async { tokio::join!(look_after, refresh, tidy) });
    stopping.run_until_cancelled(work).await;
}
