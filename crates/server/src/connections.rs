//! The connections of clients: how many there are, and how long each may keep us waiting.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Uri, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::extract::Peer;
use crate::lingering::{Lingering, Unread};
use crate::timed_body::TimedBody;

/// Connections that are open at once; more wait to be accepted.
const MAX_CONNECTIONS: usize = 8192;
/// The largest head of a request, and the most headers in it.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;
/// How long requests that are under way may take when the server stops.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// How long to wait when the system has no more sockets to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long a client may keep the server waiting.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the whole head of a request, from the opening of the connection or the end of the last request on.
    pub head: Duration,
    /// For the next piece of a body.
    pub body: Duration,
    /// For the client to take what was sent to it.
    pub taking: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(15),
            body: Duration::from_secs(30),
            taking: Duration::from_secs(60),
        }
    }
}

/// See the module.
pub(crate) struct Connections {
    service: TowerToHyperService<Router>,
    /// What may stand before every path.
    base_path: Option<Arc<str>>,
    patience: Patience,
    stopping: CancellationToken,
    /// Nobody waits any more.
    abandoned: CancellationToken,
    tasks: TaskTracker,
    room: Arc<Semaphore>,
}

impl Connections {
    pub(crate) fn new(router: Router, patience: Patience) -> Self {
        Self {
            service: TowerToHyperService::new(router),
            base_path: None,
            patience,
            stopping: CancellationToken::new(),
            abandoned: CancellationToken::new(),
            tasks: TaskTracker::new(),
            room: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        }
    }

    /// Also answers below this path, for proxies that leave it there.
    pub(crate) fn below(self, path: Option<String>) -> Self {
        let base_path = path.map(Arc::from);
        Self { base_path, ..self }
    }

    /// Takes clients in, for ever.
    pub(crate) async fn accept(&self, listener: &TcpListener) {
        loop {
            let Ok(place) = Arc::clone(&self.room).acquire_owned().await else {
                return;
            };
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let connection = self.connection(stream, peer);
                    self.tasks.spawn(async move {
                        connection.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// From now on nothing more is asked; requests that are under way are answered.
    pub(crate) fn stop(&self) {
        self.stopping.cancel();
    }

    /// Waits until the last request was answered and all are closed.
    pub(crate) async fn wait(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Closes all that are left at once.
    pub(crate) fn abandon(&self) {
        self.abandoned.cancel();
    }

    /// Lets requests that are under way be answered, as far as that is quick, and closes all.
    pub(crate) async fn end(&self) {
        self.stop();
        if tokio::time::timeout(STOP_LIMIT, self.wait()).await.is_err() {
            self.abandon();
            self.wait().await;
        }
    }

    fn connection(&self, stream: TcpStream, peer: SocketAddr) -> impl Future<Output = ()> + use<> {
        let _ = stream.set_nodelay(true); // slower without, no more
        // The system closes connections whose client takes nothing, be it for a file, a stream or a socket.
        let taking = u32::try_from(self.patience.taking.as_millis()).unwrap_or(u32::MAX);
        if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(&stream, taking) {
            tracing::debug!(%error, "a client that takes nothing is not noticed");
        }
        let unread = Unread::default();
        let stream = Lingering::new(stream, unread.clone(), self.stopping.clone());
        let service = self.service.clone();
        let body_limit = self.patience.body;
        let base_path = self.base_path.clone();
        let with_peer = hyper::service::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            if let Some(uri) = base_path.as_deref().and_then(|base| without(base, request.uri())) {
                *request.uri_mut() = uri;
            }
            // A proxy may have taken the end of such a body to be elsewhere: what follows it is nobody's request.
            let is_last = request.headers().contains_key(header::TRANSFER_ENCODING);
            let request = request.map(|body| Body::new(TimedBody::new(body, body_limit, unread.clone())));
            let answer = hyper::service::Service::call(&service, request);
            async move {
                let mut answer = answer.await?;
                if is_last {
                    let close = HeaderValue::from_static("close");
                    answer.headers_mut().insert(header::CONNECTION, close);
                }
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.patience.head)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), with_peer)
            .with_upgrades();
        let stopping = self.stopping.clone();
        let abandoned = self.abandoned.clone();
        let served = async move {
            let mut connection = pin!(connection);
            // A client that goes away in the middle is nothing to tell anybody.
            tokio::select! {
                _ = connection.as_mut() => {}
                () = stopping.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                }
            }
        };
        async move {
            abandoned.run_until_cancelled(served).await;
        }
    }
}

/// An address without the path that stands before ours, if it does.
fn without(base: &str, uri: &Uri) -> Option<Uri> {
    let rest = uri.path_and_query()?.as_str().strip_prefix(base)?;
    let rest = match rest.chars().next() {
        Some('/') => rest.to_owned(),
        Some('?') | None => format!("/{rest}"),
        Some(_) => return None,
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(rest.parse().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_before_ours_is_taken_away_and_no_other() {
        for (sent, expected) in [
            ("/deft/api/x?y=1", Some("/api/x?y=1")),
            ("/deft", Some("/")),
            ("/deft?y", Some("/?y")),
            ("/defter/api", None),
            ("/api/deft", None),
        ] {
            let read = without("/deft", &sent.parse().unwrap());
            assert_eq!(read.map(|uri| uri.to_string()).as_deref(), expected, "{sent}");
        }
    }
}
