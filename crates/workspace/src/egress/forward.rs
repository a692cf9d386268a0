//! The port inside.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, UnixStream};
use tokio::task::JoinSet;

use super::EgressError;

/// Connections at the same time; others wait.
const MAX_CONNECTIONS: usize = 256;
/// How long to wait when the system cannot give us another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// What programs look for, in both spellings that they know.
const VARIABLES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];

/// Carries connections from a port of the sandbox to the proxy outside.
pub struct Forwarder {
    listener: TcpListener,
    address: SocketAddr,
    socket: PathBuf,
}

impl Forwarder {
    /// Binds a port that leads to a proxy's socket.
    pub async fn bind(socket: PathBuf) -> Result<Self, EgressError> {
        let failed = |error: io::Error| EgressError::Listen {
            path: socket.clone(),
            error,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            socket,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The variables by which programs find it.
    pub fn environment(&self) -> Vec<(String, String)> {
        let address = format!("http://{}", self.address);
        let mut variables = VARIABLES.map(|name| (name.to_owned(), address.clone())).to_vec();
        variables.extend(
            ["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), "localhost,127.0.0.1,::1".to_owned())),
        );
        variables
    }

    /// Serves until it is dropped.
    pub async fn serve(self) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok((mut client, _)) => {
                        let socket = self.socket.clone();
                        connections.spawn(async move {
                            // The proxy limits how long it takes.
                            let mut proxy = UnixStream::connect(socket).await?;
                            copy_bidirectional(&mut client, &mut proxy).await
                        });
                    }
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }
}
