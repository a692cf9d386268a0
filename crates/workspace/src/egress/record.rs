//! What is written down of each request.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// How long the record may become; it then begins anew.
const MAX_RECORD: u64 = 1024 * 1024;

/// A request for a host: one line of JSON of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressRequest {
    /// Milliseconds since 1970.
    pub at: u64,
    /// The host that was asked for.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was let through.
    Connected,
    /// The host is not on the list.
    NotOnTheList,
    /// Its name leads to a private address.
    PrivateAddress,
    /// The name or the host did not answer.
    Unreachable,
}

/// The file.
pub(super) struct Record {
    file: Mutex<File>,
}

impl Record {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Self {
            file: Mutex::new(file),
        })
    }

    pub(super) fn write(&self, host: &str, port: u16, outcome: Outcome) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let request = EgressRequest {
            at: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
            host: host.to_owned(),
            port,
            outcome,
        };
        let Ok(mut line) = serde_json::to_vec(&request) else {
            return;
        };
        line.push(b'\n');
        let Ok(mut file) = self.file.lock() else {
            return;
        };
        if file.metadata().is_ok_and(|data| data.len() > MAX_RECORD) {
            let _ = file.set_len(0);
        }
        if let Err(error) = file.write_all(&line) {
            tracing::warn!(%error, "a request could not be recorded");
        }
    }
}
