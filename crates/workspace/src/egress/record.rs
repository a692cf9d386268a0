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
    /// The user was asked and has refused it.
    Denied,
    /// Its name leads to a private address.
    PrivateAddress,
    /// The name or the host did not answer.
    Unreachable,
}

/// The file.
pub(super) struct Record(Mutex<Written>);

struct Written {
    file: File,
    /// The moment of the last request. Each has another one, so that readers know where they were.
    last: u64,
}

/// The requests of a record after a moment, the oldest first.
pub(crate) fn requests_after(record: &Path, after: u64) -> Vec<EgressRequest> {
    let changed = record.metadata().and_then(|data| data.modified());
    // Most of the time there is nothing new. A second for clocks that are coarse.
    if changed.map_or(true, |changed| milliseconds(changed) + 1000 < after) {
        return Vec::new();
    }
    let text = std::fs::read_to_string(record).unwrap_or_default();
    let newest = text
        .lines()
        .rev()
        .filter_map(|line| serde_json::from_str(line).ok());
    let mut requests: Vec<EgressRequest> = newest
        .take_while(|request: &EgressRequest| request.at > after)
        .collect();
    requests.reverse();
    requests
}

fn milliseconds(moment: SystemTime) -> u64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Record {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Self(Mutex::new(Written { file, last: 0 })))
    }

    pub(super) fn write(&self, host: &str, port: u16, outcome: Outcome) {
        let Ok(mut written) = self.0.lock() else {
            return;
        };
        written.last = milliseconds(SystemTime::now()).max(written.last + 1);
        let request = EgressRequest {
            at: written.last,
            host: host.to_owned(),
            port,
            outcome,
        };
        let Ok(mut line) = serde_json::to_vec(&request) else {
            return;
        };
        line.push(b'\n');
        let file = &mut written.file;
        if file.metadata().is_ok_and(|data| data.len() > MAX_RECORD) {
            let _ = file.set_len(0);
        }
        if let Err(error) = file.write_all(&line) {
            tracing::warn!(%error, "a request could not be recorded");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn each_request_is_read_once_by_whoever_knows_the_last_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record");
        assert!(requests_after(&path, 0).is_empty(), "there is none yet");
        let record = Record::create(&path).unwrap();
        for port in 1..=3 {
            record.write("example.org", port, Outcome::Connected); // within one millisecond
        }
        let first = requests_after(&path, 0);
        assert_eq!(
            first.iter().map(|request| request.port).collect::<Vec<_>>(),
            [1, 2, 3]
        );
        assert_eq!(requests_after(&path, first[0].at).len(), 2);
        assert!(requests_after(&path, first[2].at).is_empty());
        record.write("example.org", 4, Outcome::NotOnTheList);
        assert_eq!(requests_after(&path, first[2].at)[0].port, 4);
    }
}
