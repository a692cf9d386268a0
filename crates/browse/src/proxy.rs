//! The only way out for both tools: a SOCKS proxy on this machine that connects to what the gate lets pass.
//!
//! A check of the address that a model names would not do: servers redirect, pages load parts from elsewhere and run
//! scripts. It gives other programs of this machine nothing that they could not reach by themselves.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::gate::Gate;

/// Connections at the same time; Chromium itself keeps to fewer.
const MAX_CONNECTIONS: usize = 256;
/// How long a client may take to say where to.
const GREETING_LIMIT: Duration = Duration::from_secs(15);
/// How many failures are remembered.
const MAX_FAILURES: usize = 64;
/// How long to wait when the system cannot give us another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the protocol says of a connection that was not made.
const GENERAL_FAILURE: u8 = 1;

/// The last failures, a host and a reason each.
type Failures = Arc<Mutex<VecDeque<(String, String)>>>;

/// Serves until it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    failures: Failures,
    _serving: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn start(gate: Gate) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let failures = Failures::default();
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, gate, failures.clone()));
        Ok(Self {
            address,
            failures,
            _serving: serving,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Why the last connection to a host was not made: the protocol does not say.
    pub(crate) fn failure(&self, host: &str) -> Option<String> {
        let host = written_alike(host);
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let found = failures.iter().rev().find(|(other, _)| *other == host);
        found.map(|(_, reason)| reason.clone())
    }
}

async fn accept(listener: TcpListener, gate: Gate, failures: Failures) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, gate.clone(), failures.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

/// A client that breaks off or breaks the protocol only loses its connection.
async fn serve(mut client: TcpStream, gate: Gate, failures: Failures) {
    let Ok(Ok((host, port))) = timeout(GREETING_LIMIT, greet(&mut client)).await else {
        return;
    };
    let reply = |code: u8| [5, code, 0, 1, 0, 0, 0, 0, 0, 0];
    match gate.connect(&host, port).await {
        Ok(mut server) => {
            if client.write_all(&reply(0)).await.is_ok() {
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
        }
        Err(reason) => {
            keep(&failures, &host, reason);
            let _ = client.write_all(&reply(GENERAL_FAILURE)).await;
        }
    }
}

/// A host that is a number, however it is written, in one way.
fn written_alike(host: &str) -> String {
    let number = host.trim_matches(['[', ']']).parse::<IpAddr>();
    number.map_or_else(|_| host.to_owned(), |number| number.to_string())
}

fn keep(failures: &Failures, host: &str, reason: String) {
    let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
    if failures.len() == MAX_FAILURES {
        failures.pop_front();
    }
    failures.push_back((written_alike(host), reason));
}

/// Reads where the client wants to go (RFC 1928, without authentication).
async fn greet(client: &mut TcpStream) -> io::Result<(String, u16)> {
    let refuse = || io::Error::from(io::ErrorKind::InvalidData);
    let [version, methods] = read(client).await?;
    if version != 5 {
        return Err(refuse());
    }
    client.read_exact(&mut vec![0; methods.into()]).await?;
    client.write_all(&[5, 0]).await?;
    let [_, command, _, kind] = read(client).await?;
    if command != 1 {
        return Err(refuse());
    }
    let host = match kind {
        1 => Ipv4Addr::from(read::<4>(client).await?).to_string(),
        4 => Ipv6Addr::from(read::<16>(client).await?).to_string(),
        3 => {
            let [length] = read(client).await?;
            let mut name = vec![0; length.into()];
            client.read_exact(&mut name).await?;
            String::from_utf8(name).map_err(|_| refuse())?
        }
        _ => return Err(refuse()),
    };
    Ok((host, u16::from_be_bytes(read(client).await?)))
}

async fn read<const N: usize>(client: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}
