//! Where browsers look at previews: at the port that was chosen, or else at the next free one.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::server::ServeError;

/// Ports beside the server's own that are tried.
const MAX_TRIED: u16 = 20;

/// Listens, at the address of the server, which was to have `wanted` as its port. Gives the port, too.
pub(crate) async fn listen(
    server: SocketAddr,
    wanted: u16,
    chosen: Option<u16>,
) -> Result<(TcpListener, u16), ServeError> {
    let neighbours = server.port().saturating_add(1)..=server.port().saturating_add(MAX_TRIED);
    let tried: Vec<u16> = match (chosen, wanted) {
        (Some(port), _) => vec![port],
        (None, 0) => vec![0], // whoever takes any port for the server has no use for its neighbour
        (None, _) => neighbours.chain([0]).collect(),
    };
    let mut failure = ServeError::Previews {
        address: server,
        reason: io::ErrorKind::AddrInUse.into(),
    };
    for port in tried {
        let address = SocketAddr::new(server.ip(), port);
        match bind(address).await {
            Ok(bound) => return Ok(bound),
            Err(reason) => failure = ServeError::Previews { address, reason },
        }
    }
    Err(failure)
}

async fn bind(address: SocketAddr) -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind(address).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_next_free_port_is_taken_unless_one_was_chosen() {
        let (taken, port) = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let server = taken.local_addr().unwrap();
        let (_next, found) = listen(server, port, None).await.unwrap();
        assert_ne!(found, port);
        let refused = listen(server, port, Some(port)).await.unwrap_err().to_string();
        assert!(refused.contains("DEFT_PREVIEW_PORT"), "{refused}");
    }
}
