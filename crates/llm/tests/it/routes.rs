//! A server that answers each path with its own body, on any number of connections.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Answers by request line, such as `GET /api/tags`; anything else is not found. Where a path has several, each is
/// given once and the last for ever.
pub(crate) type Answers = Vec<(&'static str, u16, String)>;

pub(crate) struct Routes {
    pub(crate) address: String,
    /// Request lines and bodies, as they came.
    requests: Arc<Mutex<Vec<(String, Value)>>>,
    task: JoinHandle<()>,
}

impl Drop for Routes {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Routes {
    pub(crate) async fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::default();
        let seen = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            let mut queues: HashMap<_, Vec<_>> = HashMap::new();
            for (line, status, body) in answers {
                queues.entry(line.to_owned()).or_default().push((status, body));
            }
            let queues = Arc::new(Mutex::new(queues));
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(serve(stream, Arc::clone(&queues), Arc::clone(&seen)));
            }
        });
        Self {
            address,
            requests,
            task,
        }
    }

    /// The bodies of the requests that came with this request line.
    pub(crate) fn bodies(&self, line: &str) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        let matching = requests.iter().filter(|(seen, _)| seen == line);
        matching.map(|(_, body)| body.clone()).collect()
    }
}

type Queues = Arc<Mutex<HashMap<String, Vec<(u16, String)>>>>;

async fn serve(mut stream: TcpStream, queues: Queues, seen: Arc<Mutex<Vec<(String, Value)>>>) {
    while let Some((line, body)) = receive(&mut stream).await {
        seen.lock().unwrap().push((line.clone(), body));
        let (status, body) = match queues.lock().unwrap().get_mut(&line) {
            Some(queue) if queue.len() > 1 => queue.remove(0),
            Some(queue) => queue[0].clone(),
            None => (404, "404 page not found".to_owned()),
        };
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        drop(stream.write_all(answer.as_bytes()).await);
    }
}

/// The next request; `None` once the client has gone.
async fn receive(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok())
            .unwrap_or(0);
        if body.len() >= length {
            let line = head.lines().next()?.strip_suffix(" HTTP/1.1")?.to_owned();
            return Some((line, serde_json::from_str(body).unwrap_or_default()));
        }
    }
}
