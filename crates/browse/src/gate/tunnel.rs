//! Connections through an HTTP proxy (`CONNECT`), which says why where it makes none.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long the proxy may take: it looks a name up and connects to one address after the other.
const TUNNEL_LIMIT: Duration = Duration::from_secs(60);
/// The longest answer that is read.
const MAX_ANSWER: usize = 4096;
const HEAD_END: &[u8] = b"\r\n\r\n";

pub(super) async fn open(proxy: SocketAddr, host: &str, port: u16) -> Result<TcpStream, String> {
    let asked = timeout(TUNNEL_LIMIT, ask(proxy, host, port)).await;
    let limit = TUNNEL_LIMIT.as_secs();
    asked.unwrap_or_else(|_| Err(format!("{host} was not reached within {limit} s")))
}

async fn ask(proxy: SocketAddr, host: &str, port: u16) -> Result<TcpStream, String> {
    let broken = |error: std::io::Error| format!("the sandbox's way to the network is broken ({error})");
    let authority = if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    let mut stream = TcpStream::connect(proxy).await.map_err(broken)?;
    let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(broken)?;

    // Byte by byte: what comes behind the head is the server's.
    let mut answer = Vec::new();
    while !answer.ends_with(HEAD_END) && answer.len() < MAX_ANSWER {
        answer.push(stream.read_u8().await.map_err(broken)?);
    }
    if answer.starts_with(b"HTTP/1.1 200 ") {
        let _ = stream.set_nodelay(true); // only a matter of speed
        return Ok(stream);
    }
    let mut reason = Vec::new();
    let _ = stream.take(MAX_ANSWER as u64).read_to_end(&mut reason).await; // what there is of it will do
    Err(String::from_utf8_lossy(&reason)
        .trim()
        .trim_end_matches('.')
        .to_owned())
}
