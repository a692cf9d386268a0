//! What the proxy and whoever can answer for the user say to each other: lines of JSON over a socket that nobody inside
//! can reach.

use std::fmt;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// A host that a program wants to reach and no rule names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AskedHost {
    /// Its name, or its public address.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl fmt::Display for AskedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// What the proxy says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub enum HostNews {
    /// May it be reached? The program waits.
    Asked(AskedHost),
    /// Nobody has answered in time: it was refused.
    Expired(AskedHost),
    /// The program waits no longer.
    Withdrawn(AskedHost),
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostVerdict {
    /// Let the waiting requests through.
    Allow,
    /// The user refuses.
    Deny,
    /// There is nobody to ask.
    NobodyThere,
}

/// One answer, as it is written.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answered {
    pub(super) asked: AskedHost,
    pub(super) verdict: HostVerdict,
}

/// The questions of one workspace. Whoever holds this answers all of them; without it they are refused at once.
pub struct HostQuestions {
    lines: Lines<BufReader<OwnedReadHalf>>,
    answers: OwnedWriteHalf,
}

impl HostQuestions {
    /// None where there is no proxy.
    pub(crate) async fn connect(socket: &Path) -> Option<Self> {
        let (read, answers) = UnixStream::connect(socket).await.ok()?.into_split();
        Some(Self {
            lines: BufReader::new(read).lines(),
            answers,
        })
    }

    /// Waits for the next piece of news; none when the proxy is gone. Losing interest meanwhile loses nothing.
    pub async fn next(&mut self) -> Option<HostNews> {
        let line = self.lines.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }

    /// Answers all requests that wait for a host.
    pub async fn answer(&mut self, asked: AskedHost, verdict: HostVerdict) -> io::Result<()> {
        let line = json_line(&Answered { asked, verdict })?;
        self.answers.write_all(&line).await
    }
}

pub(super) fn json_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
