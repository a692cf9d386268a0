//! A server that answers every connection with the same bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// What it does on a connection, once a request has come. At the end it closes.
#[derive(Clone)]
pub(crate) enum Act {
    Send(String),
    SendBytes(Vec<u8>),
    /// Waits for another request on the same connection.
    NextRequest,
    /// Keeps silent until the other side closes.
    Hold,
    /// Sends byte by byte, with such a pause before each.
    Drip(String, Duration),
    /// Says that nothing more comes, and waits until the other side closes.
    HalfClose,
    /// Breaks the connection off at once: what is under way is lost.
    Reset,
}

/// A request as it came.
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Server {
    port: u16,
    requests: Mutex<mpsc::Receiver<Received>>,
    closed: Mutex<mpsc::Receiver<()>>,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (request_sender, requests) = mpsc::channel(16);
        let (closed_sender, closed) = mpsc::channel(16);
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let request = receive(&mut stream).await;
                if request.head.starts_with("GET ") {
                    // It has nothing to say about its models.
                    drop(
                        stream
                            .write_all(
                                b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                            )
                            .await,
                    );
                    continue;
                }
                request_sender.send(request).await.unwrap();
                for act in &acts {
                    match act {
                        // A client that has seen enough may be gone.
                        Act::Send(text) => drop(stream.write_all(text.as_bytes()).await),
                        Act::SendBytes(bytes) => drop(stream.write_all(bytes).await),
                        Act::NextRequest => request_sender.send(receive(&mut stream).await).await.unwrap(),
                        Act::Drip(text, pause) => {
                            for byte in text.as_bytes() {
                                tokio::time::sleep(*pause).await; // the fault itself
                                drop(stream.write_all(&[*byte]).await);
                            }
                        }
                        Act::Reset => stream.set_zero_linger().unwrap(),
                        Act::HalfClose | Act::Hold => {
                            if let Act::HalfClose = act {
                                drop(stream.shutdown().await);
                            }
                            while matches!(stream.read(&mut [0; 1024]).await, Ok(1..)) {}
                            closed_sender.send(()).await.unwrap();
                        }
                    }
                }
            }
        });
        Self {
            port,
            requests: Mutex::new(requests),
            closed: Mutex::new(closed),
            connections,
            task,
        }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The next request that came.
    pub(crate) async fn request(&self) -> Received {
        let mut requests = self.requests.lock().await;
        timeout(PATIENCE, requests.recv())
            .await
            .expect("no request")
            .unwrap()
    }

    /// Waits until the client has closed a connection that was held.
    pub(crate) async fn closed(&self) {
        let mut closed = self.closed.lock().await;
        timeout(PATIENCE, closed.recv())
            .await
            .expect("the connection stays open")
            .unwrap();
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// The head of an answer that ends with the connection.
pub(crate) fn head(content_type: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n")
}

async fn receive(stream: &mut TcpStream) -> Received {
    let mut bytes = Vec::new();
    loop {
        let count = stream.read_buf(&mut bytes).await.unwrap();
        assert_ne!(count, 0, "the client closed within its request");
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse::<usize>()
                        .ok()
                })
                .unwrap_or(0);
            if body.len() >= length {
                return Received {
                    head: head.to_owned(),
                    body: serde_json::from_str(body).unwrap_or_default(),
                };
            }
        }
    }
}
