//! A connection to an executor that is used in pieces, by commands that each carry some bytes to it or from it.
//!
//! This is for places that can only run commands and tell what they wrote. The relay is one process that holds the
//! connection; [`send`] and [`receive`] are others that meet it at two sockets beside each other. Bytes that get
//! lost on the way end the connection: the frames above are made for that.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use crate::daemon;

/// The most bytes that one command brings or takes.
pub const MAX_PIECE_BYTES: usize = 512 * 1024;
/// How long a command waits for something to take.
const RECEIVE_WAIT: Duration = Duration::from_secs(45);
/// How long the relay waits for the next command until it takes its client for gone.
const IDLE_LIMIT: Duration = Duration::from_secs(120);
/// How long a command looks for the relay.
const JOIN_LIMIT: Duration = Duration::from_secs(20);
/// How long the other side of a socket may take for a piece.
const PIECE_LIMIT: Duration = Duration::from_secs(20);

/// What a command takes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Bytes of the executor's.
    Bytes(Vec<u8>),
    /// It had nothing to say.
    Nothing,
    /// The connection has ended.
    End,
}

/// The two sockets of a relay.
pub struct Relay {
    inward: UnixListener,
    outward: UnixListener,
    directory: PathBuf,
}

impl Relay {
    /// Listens in a directory of its own, which is private and made for it.
    pub fn bind(directory: &Path) -> Result<Self, daemon::DaemonError> {
        daemon::private_directory(directory)?;
        let listen = |name: &str| {
            let path = directory.join(name);
            let _ = std::fs::remove_file(&path);
            UnixListener::bind(&path).map_err(|error| daemon::DaemonError::Listen { path, error })
        };
        Ok(Self {
            inward: listen("in")?,
            outward: listen(daemon::SOCKET)?,
            directory: directory.to_owned(),
        })
    }

    /// Carries pieces until either side has ended.
    pub async fn serve(self, executor: impl AsyncRead + AsyncWrite) {
        let (from_executor, to_executor) = tokio::io::split(executor);
        let carried = async {
            tokio::select! {
                ended = take_pieces(&self.inward, to_executor) => ended,
                ended = give_pieces(&self.outward, from_executor) => ended,
            }
        };
        if let Err(error) = carried.await {
            tracing::debug!("the relay ends: {error}");
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }

    /// Tells the first command that comes why there is no executor.
    pub async fn refuse(self, reason: &str) {
        let refused = async {
            let (mut stream, _) = self.outward.accept().await?;
            stream.write_all(&[REFUSED]).await?;
            stream.write_all(reason.as_bytes()).await
        };
        let _ = tokio::time::timeout(IDLE_LIMIT, refused).await;
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The first byte of an answer.
const BYTES: u8 = 0;
const END: u8 = 1;
const REFUSED: u8 = 2;

async fn take_pieces(inward: &UnixListener, mut executor: impl AsyncWrite + Unpin) -> io::Result<()> {
    loop {
        let (mut stream, _) = inward.accept().await?;
        let mut piece = Vec::new();
        let mut most = (&mut stream).take(MAX_PIECE_BYTES as u64);
        tokio::time::timeout(PIECE_LIMIT, most.read_to_end(&mut piece)).await??;
        executor.write_all(&piece).await?;
        executor.flush().await?;
        stream.write_all(&[BYTES]).await?;
    }
}

async fn give_pieces(outward: &UnixListener, mut executor: impl AsyncRead + Unpin) -> io::Result<()> {
    let mut piece = vec![0; MAX_PIECE_BYTES];
    loop {
        let (mut stream, _) = tokio::time::timeout(IDLE_LIMIT, outward.accept()).await??;
        let read = tokio::time::timeout(RECEIVE_WAIT, executor.read(&mut piece)).await;
        let (status, count) = match read {
            Ok(Ok(0) | Err(_)) => (END, 0),
            Ok(Ok(count)) => (BYTES, count),
            Err(_) => (BYTES, 0),
        };
        let give = async {
            stream.write_all(&[status]).await?;
            stream.write_all(&piece[..count]).await?;
            stream.shutdown().await
        };
        tokio::time::timeout(PIECE_LIMIT, give).await??;
        if status == END {
            return Ok(());
        }
    }
}

/// Brings bytes to the executor.
pub async fn send(directory: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut stream = UnixStream::connect(directory.join("in")).await?;
    stream.write_all(bytes).await?;
    stream.shutdown().await?;
    let mut done = [0; 1];
    tokio::time::timeout(PIECE_LIMIT, stream.read_exact(&mut done)).await??;
    Ok(())
}

/// Takes what the executor says, and waits a while for it. The relay may still be starting.
pub async fn receive(directory: &Path) -> io::Result<Received> {
    let mut stream = daemon::join(directory, JOIN_LIMIT).await?;
    let mut answer = Vec::new();
    tokio::time::timeout(RECEIVE_WAIT + PIECE_LIMIT, stream.read_to_end(&mut answer)).await??;
    match answer.split_first() {
        Some((&BYTES, [])) => Ok(Received::Nothing),
        Some((&BYTES, bytes)) => Ok(Received::Bytes(bytes.to_vec())),
        Some((&REFUSED, reason)) => Err(io::Error::other(String::from_utf8_lossy(reason).into_owned())),
        Some(_) | None => Ok(Received::End),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn pieces_arrive_in_order_and_the_end_is_told() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("relay");
        let (near, far) = tokio::io::duplex(1024);
        let relay = Relay::bind(&directory).unwrap();
        let talk = async {
            let (mut from_us, mut to_us) = tokio::io::split(far);
            for word in ["one", "two"] {
                send(&directory, word.as_bytes()).await.unwrap();
                let mut heard = [0; 3];
                from_us.read_exact(&mut heard).await.unwrap();
                assert_eq!(heard, word.as_bytes());
                to_us.write_all(&heard).await.unwrap();
                assert_eq!(
                    receive(&directory).await.unwrap(),
                    Received::Bytes(heard.to_vec())
                );
            }
            drop((from_us, to_us));
            assert_eq!(receive(&directory).await.unwrap(), Received::End);
        };
        tokio::join!(relay.serve(near), talk);
        assert!(!directory.exists());
    }

    #[tokio::test]
    async fn why_there_is_no_executor_is_told() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("relay");
        let relay = Relay::bind(&directory).unwrap();
        let ((), refused) = tokio::join!(relay.refuse("no such place"), receive(&directory));
        assert_eq!(refused.unwrap_err().to_string(), "no such place");
    }
}
