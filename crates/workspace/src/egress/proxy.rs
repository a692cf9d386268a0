//! The proxy outside.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deft_types::Network;
use hickory_resolver::TokioResolver;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Host;

use super::EgressError;
use super::desk::{Desk, PATIENCE};
use super::question::HostVerdict;
use super::record::{Outcome, Record};
use super::request::{self, Kind, Request};
use super::rule::{HostRule, REGISTRIES};

/// Requests at the same time; others wait.
const MAX_CONNECTIONS: usize = 256;
/// How long a client may take to say what it wants.
const HEAD_LIMIT: Duration = Duration::from_secs(30);
/// How long looking a name up may take, and connecting to one address.
const CONNECT_LIMIT: Duration = Duration::from_secs(15);
/// How long one connection may last.
const CONNECTION_LIMIT: Duration = Duration::from_secs(3600);
/// How long to wait when the system cannot give us another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often it is looked whether a program still waits for its host to be allowed.
const GONE_CHECK: Duration = Duration::from_millis(500);

/// What a proxy lets through, and where it writes down what was asked for.
pub struct Egress {
    rules: Vec<HostRule>,
    record: PathBuf,
    patience: Duration,
}

impl Egress {
    /// Package registries, and more hosts.
    pub fn new(hosts: &[HostRule], record: PathBuf) -> Self {
        let registries = REGISTRIES.iter().filter_map(|host| host.parse().ok());
        Self {
            rules: registries.chain(hosts.iter().cloned()).collect(),
            record,
            patience: PATIENCE,
        }
    }

    /// Binds its socket and the one for whoever answers for the user, replacing those that a dead proxy left.
    pub fn bind(self, socket: &Path, questions: &Path) -> Result<Proxy, EgressError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| EgressError::Listen { path, error }
        };
        let listen = |socket: &Path| {
            let _ = std::fs::remove_file(socket);
            UnixListener::bind(socket).map_err(failed(socket))
        };
        let gate = Gate {
            record: Record::create(&self.record).map_err(failed(&self.record))?,
            rules: self.rules,
            desk: Desk::new(self.patience),
        };
        Ok(Proxy {
            listener: listen(socket)?,
            questions: listen(questions)?,
            gate: Arc::new(gate),
        })
    }
}

/// A bound proxy, not yet served.
pub struct Proxy {
    listener: UnixListener,
    questions: UnixListener,
    gate: Arc<Gate>,
}

impl Proxy {
    /// Serves until it is dropped, and with it every connection.
    pub async fn serve(self) {
        let mut connections = JoinSet::new();
        let answers = self.gate.desk.serve(&self.questions);
        tokio::pin!(answers);
        loop {
            tokio::select! {
                () = &mut answers => {} // it goes on for ever
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok((stream, _)) => {
                        let gate = Arc::clone(&self.gate);
                        connections.spawn(async move { gate.handle(stream).await });
                    }
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }
}

struct Gate {
    rules: Vec<HostRule>,
    record: Record,
    desk: Desk,
}

impl Gate {
    async fn handle(&self, mut client: UnixStream) {
        let head = timeout(HEAD_LIMIT, request::read(&mut client)).await;
        let outcome = match head {
            Ok(Ok(Some(request))) => self.carry_out(&mut client, request).await,
            Ok(Ok(None)) => answer(&mut client, 400, "This proxy takes CONNECT and http:// requests.").await,
            Ok(Err(_)) | Err(_) => return,
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "a connection through the proxy broke");
        }
    }

    async fn carry_out(&self, client: &mut UnixStream, request: Request) -> io::Result<()> {
        let Request { host, port, .. } = &request;
        let connected = match self.admit(host, *port, client).await {
            Ok(()) => connect(host, *port).await,
            Err(refused) => Err(refused),
        };
        let outcome = connected
            .as_ref()
            .map_or_else(|outcome| *outcome, |_| Outcome::Connected);
        self.record.write(&host.to_string(), *port, outcome);
        let mut server = match connected {
            Ok(server) => server,
            Err(outcome) => {
                let (status, text) = refusal(outcome, host, *port);
                return answer(client, status, &text).await;
            }
        };
        if request.kind == Kind::Tunnel {
            client
                .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .await?;
        }
        server.write_all(&request.opening).await?;
        let _ = timeout(CONNECTION_LIMIT, copy_bidirectional(client, &mut server)).await;
        Ok(())
    }

    /// Whether a rule or the user lets a host be reached.
    async fn admit(&self, host: &Host<String>, port: u16, client: &UnixStream) -> Result<(), Outcome> {
        if self.rules.iter().any(|rule| rule.allows(host, port)) {
            return Ok(());
        }
        match self.desk.ask(host, port, gone(client)).await {
            HostVerdict::Allow => Ok(()),
            HostVerdict::Deny => Err(Outcome::Denied),
            HostVerdict::NobodyThere => Err(Outcome::NotOnTheList),
        }
    }
}

/// Ends when a client has hung up.
async fn gone(client: &UnixStream) {
    loop {
        match client.ready(Interest::READABLE).await {
            Ok(ready) if !ready.is_read_closed() => tokio::time::sleep(GONE_CHECK).await,
            Ok(_) | Err(_) => return,
        }
    }
}

async fn connect(host: &Host<String>, port: u16) -> Result<TcpStream, Outcome> {
    let addresses = match host {
        Host::Ipv4(address) => vec![IpAddr::V4(*address)],
        Host::Ipv6(address) => vec![IpAddr::V6(*address)],
        Host::Domain(name) => {
            let found = timeout(CONNECT_LIMIT, look_up(name)).await;
            let found = found.ok().flatten().ok_or(Outcome::Unreachable)?;
            if !found
                .iter()
                .all(|address| Network::of(*address) == Network::Public)
            {
                return Err(Outcome::PrivateAddress);
            }
            found
        }
    };
    for address in addresses {
        let attempt = TcpStream::connect(SocketAddr::new(address, port));
        if let Ok(Ok(server)) = timeout(CONNECT_LIMIT, attempt).await {
            return Ok(server);
        }
    }
    Err(Outcome::Unreachable)
}

async fn look_up(name: &str) -> Option<Vec<IpAddr>> {
    let resolver = TokioResolver::builder_tokio().ok()?.build().ok()?;
    let found = resolver.lookup_ip(name).await.ok()?;
    Some(found.iter().collect())
}

fn refusal(outcome: Outcome, host: &Host<String>, port: u16) -> (u16, String) {
    match outcome {
        Outcome::NotOnTheList => {
            let text = format!(
                "{host}:{port} is not on the allow-list of this sandbox. The user can add it to the setting \
                 sandbox_allow, or set sandbox_network to all; nobody can from inside."
            );
            (403, text)
        }
        Outcome::Denied => {
            let text = format!(
                "The user has refused {host}:{port} when asked. Do without it, or ask the user to add it to the setting \
                 sandbox_allow."
            );
            (403, text)
        }
        Outcome::PrivateAddress => {
            let text = format!(
                "{host} leads to an address of a private network. The user can add that address itself to the \
                 setting sandbox_allow."
            );
            (403, text)
        }
        Outcome::Unreachable | Outcome::Connected => (502, format!("{host}:{port} could not be reached.")),
    }
}

async fn answer(client: &mut UnixStream, status: u16, text: &str) -> io::Result<()> {
    let reason = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        _ => "Bad Gateway",
    };
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{text}\n",
        text.len() + 1
    );
    client.write_all(head.as_bytes()).await?;
    client.shutdown().await?;
    // What the client still sends is read, or the answer would be lost with a reset.
    let mut rest = [0; 1024];
    while let Ok(Ok(1..)) = timeout(HEAD_LIMIT, client.read(&mut rest)).await {}
    Ok(())
}

#[cfg(test)]
mod tests;
