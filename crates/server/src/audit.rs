//! Who did what and when: kept in the store, a day in a folder.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use deft_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

const FOLDER: &str = "audit/";
/// Days that are kept.
const KEPT_DAYS: i64 = 90;

/// One line of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When.
    pub at: SystemTime,
    /// The user; none: whoever owns the server, or somebody unknown.
    pub user: Option<String>,
    /// The id of the key.
    pub key: Option<String>,
    /// From where.
    pub from: Option<IpAddr>,
    /// What was asked, or done on the command line.
    pub what: String,
    /// How it was answered: a status of HTTP, or 0 on the command line.
    pub status: u16,
}

impl AuditEntry {
    /// Something done on the server's own machine.
    pub fn on_the_command_line(what: String) -> Self {
        Self {
            at: SystemTime::now(),
            user: None,
            key: None,
            from: None,
            what,
            status: 0,
        }
    }
}

/// The audit log of a store.
#[derive(Clone)]
pub struct Audit {
    store: Arc<dyn Store>,
}

impl Audit {
    /// That of a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Adds an entry.
    pub async fn note(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        let moment = jiff::Timestamp::try_from(entry.at).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let random = Uuid::new_v4().simple().to_string();
        let key = format!(
            "{FOLDER}{}-{}",
            moment.strftime("%Y-%m-%d/%H:%M:%S.%6f"),
            &random[..8]
        );
        let text = serde_json::to_string(entry).unwrap_or_default(); // nothing in it has no JSON form
        self.store.swap_document(key, None, Some(text)).await.map(drop)
    }

    /// The entries of the last days, today's among them, the oldest first.
    pub async fn last_days(&self, days: u32) -> Result<Vec<AuditEntry>, StoreError> {
        let mut entries = Vec::new();
        for ago in (0..i64::from(days).min(KEPT_DAYS)).rev() {
            let found = self.store.documents(&format!("{FOLDER}{}/", day(ago))).await?;
            entries.extend(
                found
                    .iter()
                    .filter_map(|(_, text)| serde_json::from_str(text).ok()),
            );
        }
        Ok(entries)
    }

    /// Takes away what is too old: those of the month before what is kept, for it is done every day.
    pub(crate) async fn tidy(&self) -> Result<(), StoreError> {
        for ago in KEPT_DAYS..KEPT_DAYS + 31 {
            for (key, text) in self.store.documents(&format!("{FOLDER}{}/", day(ago))).await? {
                self.store.swap_document(key, Some(text), None).await?;
            }
        }
        Ok(())
    }
}

/// The date so many days ago.
fn day(ago: i64) -> String {
    let hours = ago.saturating_mul(24);
    let moment = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours);
    moment.strftime("%Y-%m-%d").to_string()
}
