//! Where requests for hosts that no rule names wait for an answer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deft_types::Network;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use url::Host;

use super::question::{Answered, AskedHost, HostNews, HostVerdict, json_line};

/// How long a request waits for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
/// Hosts that are asked for at the same time; others are refused.
const MAX_ASKED: usize = 16;
/// News that wait for somebody who does not read them.
const BACKLOG: usize = 64;
/// How long one line may take to be written.
const WRITE_LIMIT: Duration = Duration::from_secs(5);
/// Names under which machines of the same network are found.
const INNER_NAMES: [&str; 6] = ["localhost", "local", "internal", "intranet", "lan", "home.arpa"];

/// See the module.
pub(super) struct Desk {
    patience: Duration,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// Whoever answers.
    attendant: Option<mpsc::Sender<HostNews>>,
    /// Each host once, however many requests wait for it.
    asked: HashMap<AskedHost, watch::Sender<Option<HostVerdict>>>,
}

impl Open {
    /// Ends a question.
    fn take(&mut self, asked: &AskedHost, news: HostNews) {
        if self.asked.remove(asked).is_some()
            && let Some(attendant) = &self.attendant
        {
            let _ = attendant.try_send(news); // somebody who does not read is not told either
        }
    }
}

impl Desk {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            patience,
            open: Mutex::default(),
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is answered about a host. `gone` ends when the program that asks waits no longer.
    pub(super) async fn ask(
        &self,
        host: &Host<String>,
        port: u16,
        gone: impl Future<Output = ()>,
    ) -> HostVerdict {
        let asked = AskedHost {
            host: host.to_string(),
            port,
        };
        if !may_be_offered(host) {
            return HostVerdict::NobodyThere;
        }
        let Some(mut verdict) = self.put(&asked) else {
            return HostVerdict::NobodyThere;
        };
        let answered = async {
            // An error: whoever was to answer has gone.
            let answered = verdict.wait_for(Option::is_some).await;
            answered.map_or(None, |verdict| *verdict)
        };
        let answered = tokio::select! {
            answered = timeout(self.patience, answered) => Some(answered),
            () = gone => None,
        };
        drop(verdict);
        match answered {
            Some(Ok(verdict)) => return verdict.unwrap_or(HostVerdict::NobodyThere),
            Some(Err(_)) => self.open().take(&asked, HostNews::Expired(asked.clone())),
            None => self.withdraw(&asked),
        }
        HostVerdict::NobodyThere
    }

    /// Puts a question, or joins those who have put it before; none where nobody could answer.
    fn put(&self, asked: &AskedHost) -> Option<watch::Receiver<Option<HostVerdict>>> {
        let mut open = self.open();
        if let Some(same) = open.asked.get(asked) {
            return Some(same.subscribe());
        }
        if open.asked.len() >= MAX_ASKED {
            return None;
        }
        open.attendant
            .as_ref()?
            .try_send(HostNews::Asked(asked.clone()))
            .ok()?;
        let (sender, receiver) = watch::channel(None);
        open.asked.insert(asked.clone(), sender);
        Some(receiver)
    }

    /// Takes a question back unless others have put it too.
    fn withdraw(&self, asked: &AskedHost) {
        let mut open = self.open();
        let others = open.asked.get(asked).map(watch::Sender::receiver_count);
        if others == Some(0) {
            open.take(asked, HostNews::Withdrawn(asked.clone()));
        }
    }

    /// Lets whoever connects answer, one after the other: a newer one takes the place of an older one.
    pub(super) async fn serve(&self, listener: &UnixListener) {
        let mut next = listener.accept().await;
        loop {
            let Ok((stream, _)) = next else {
                tokio::time::sleep(WRITE_LIMIT).await; // the system has no more of them
                next = listener.accept().await;
                continue;
            };
            tokio::select! {
                () = self.attend(stream) => next = listener.accept().await,
                newer = listener.accept() => next = newer,
            }
        }
    }

    async fn attend(&self, stream: UnixStream) {
        let (sender, mut news) = mpsc::channel(BACKLOG);
        // Dropping what an older one was asked refuses it.
        *self.open() = Open {
            attendant: Some(sender),
            asked: HashMap::new(),
        };
        let (read, mut write) = stream.into_split();
        let mut lines = BufReader::new(read).lines();
        loop {
            tokio::select! {
                Some(told) = news.recv() => {
                    let Ok(line) = json_line(&told) else { continue };
                    if !matches!(timeout(WRITE_LIMIT, write.write_all(&line)).await, Ok(Ok(()))) {
                        break;
                    }
                }
                line = lines.next_line() => {
                    let Ok(Some(line)) = line else { break };
                    if let Ok(Answered { asked, verdict }) = serde_json::from_str(&line)
                        && let Some(waiting) = self.open().asked.remove(&asked)
                    {
                        waiting.send_replace(Some(verdict));
                    }
                }
            }
        }
        *self.open() = Open::default();
    }
}

/// Hosts of private networks are never offered. A name is not looked up to know that, which would tell its owner what
/// nobody has allowed yet: one that leads to such a network is refused whatever was answered.
fn may_be_offered(host: &Host<String>) -> bool {
    match host {
        Host::Ipv4(address) => Network::of((*address).into()) == Network::Public,
        Host::Ipv6(address) => Network::of((*address).into()) == Network::Public,
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            let is_inner = |inner: &&str| {
                name.strip_suffix(*inner)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            name.contains('.') && !INNER_NAMES.iter().any(is_inner)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_private_networks_are_not_offered() {
        for (host, offered) in [
            ("example.org", true),
            ("93.184.216.34", true),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("192.168.1.1", false),
            ("[::1]", false),
            ("[fd00::1]", false),
            ("localhost", false),
            ("a.localhost", false),
            ("printer.local", false),
            ("metadata.google.internal", false),
            ("wiki", false),
        ] {
            assert_eq!(may_be_offered(&Host::parse(host).unwrap()), offered, "{host}");
        }
    }
}
