//! As much of HTTP and of sockets as it takes to ask a server many questions for little.

use std::net::SocketAddr;

use anyhow::{Context, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// The key of the servers that are measured.
pub(super) const KEY: &str = "bench";

/// A connection that is kept.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
            address,
        })
    }

    /// Asks once; gives back status and body.
    pub(super) async fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<(u16, Vec<u8>)> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nX-Session-API-Key: {KEY}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        let (status, length) = self.head().await?;
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).await?;
        Ok((status, answer))
    }

    /// The same where it must succeed and the answer is JSON.
    pub(super) async fn json(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let (status, answer) = self.ask(method, path, body).await?;
        ensure!(
            (200..300).contains(&status),
            "{method} {path}: {status} {}",
            String::from_utf8_lossy(&answer)
        );
        Ok(serde_json::from_slice(&answer)?)
    }

    /// Becomes a socket.
    pub(super) async fn watch(mut self, path: &str) -> anyhow::Result<Socket> {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nX-Session-API-Key: {KEY}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
            self.address
        );
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        let (status, _) = self.head().await?;
        ensure!(status == 101, "{path} was answered with {status}");
        Ok(Socket(self.stream))
    }

    /// The status, and how long the body is.
    async fn head(&mut self) -> anyhow::Result<(u16, usize)> {
        let mut line = String::new();
        self.stream.read_line(&mut line).await?;
        let status = line
            .split(' ')
            .nth(1)
            .context("the server ended the connection")?
            .parse()?;
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line).await?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                return Ok((status, length));
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
    }
}

/// A socket that listens.
pub(super) struct Socket(BufReader<TcpStream>);

impl Socket {
    /// The next text.
    pub(super) async fn next(&mut self) -> anyhow::Result<String> {
        const TEXT: u8 = 0x81;
        loop {
            let kind = self.0.read_u8().await?;
            let length = match self.0.read_u8().await? {
                126 => u64::from(self.0.read_u16().await?),
                127 => self.0.read_u64().await?,
                short => u64::from(short),
            };
            let mut text = vec![0; usize::try_from(length)?];
            self.0.read_exact(&mut text).await?;
            if kind == TEXT {
                return Ok(String::from_utf8(text)?);
            }
        }
    }

    /// Reads until a text has this in it.
    pub(super) async fn until(&mut self, part: &str) -> anyhow::Result<()> {
        while !self.next().await?.contains(part) {}
        Ok(())
    }
}
