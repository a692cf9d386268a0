//! Somebody who wants a socket, as the audit log tells of them.

use std::net::IpAddr;

use axum::http::StatusCode;

use super::directory::Caller;
use super::note;
use crate::accounts::KeyScope;
use crate::app::App;
use crate::audit::AuditEntry;

/// See the module.
pub(crate) struct Visit {
    pub(crate) from: IpAddr,
    /// What is asked for.
    pub(crate) what: String,
}

impl Visit {
    /// Their key opens nothing here.
    pub(crate) async fn refused(&self, app: &App, status: StatusCode) {
        let entry = AuditEntry::asked(None, self.from, self.what.clone());
        note(app, entry, status).await;
    }

    /// They are in. What is said over a socket is not told one by one, so it is told who could say something.
    pub(crate) async fn opened(&self, app: &App, caller: &Caller) {
        if caller.scopes.contains(&KeyScope::Write) && app.users.directory.has_users() {
            let entry = AuditEntry::asked(Some(caller), self.from, self.what.clone());
            note(app, entry, StatusCode::SWITCHING_PROTOCOLS).await;
        }
    }
}
