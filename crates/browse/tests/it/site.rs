//! A small website, for one connection after the other.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Serves until it is dropped.
pub(crate) struct Site {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

/// What the site has at a path.
pub(crate) enum Page {
    Html(String),
    /// A file to download under this name.
    File(&'static str, Vec<u8>),
    Redirect(String),
    /// Never answers.
    Silence,
}

pub(crate) fn html(body: &str) -> Page {
    Page::Html(body.to_owned())
}

impl Site {
    pub(crate) async fn new(page: impl Fn(&str) -> Page + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, page) = (requests.clone(), Arc::new(page));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(serve(stream, page.clone(), seen.clone()));
            }
        });
        Self {
            port,
            requests,
            _serving: serving,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The first lines of the requests so far, with the bodies of forms.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    page: Arc<impl Fn(&str) -> Page + Send + Sync>,
    seen: Arc<Mutex<Vec<String>>>,
) {
    let mut request = vec![0; 65_536];
    let read = stream.read(&mut request).await.unwrap_or(0);
    let request = String::from_utf8_lossy(&request[..read]).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let body = request.split("\r\n\r\n").nth(1).unwrap_or_default();
    seen.lock()
        .unwrap()
        .push(format!("{} {body}", request.lines().next().unwrap_or_default()));
    let (head, body) = match page(&path) {
        Page::Html(body) => (
            "200 OK\r\nContent-Type: text/html; charset=utf-8".to_owned(),
            format!("<!doctype html>{body}").into_bytes(),
        ),
        Page::File(name, bytes) => (
            format!(
                "200 OK\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=\"{name}\""
            ),
            bytes,
        ),
        Page::Redirect(target) => (format!("302 Found\r\nLocation: {target}"), Vec::new()),
        Page::Silence => return std::future::pending().await,
    };
    let head = format!(
        "HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
}
