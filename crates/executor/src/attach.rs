//! Joins a byte stream to an executor's socket: what runs at the far end of an exec or ssh channel.

use std::io;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

/// Carries bytes both ways until either side ends.
pub async fn attach(socket: &Path, stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    let mut stream = stream;
    let mut executor = UnixStream::connect(socket).await?;
    match tokio::io::copy_bidirectional(&mut stream, &mut executor).await {
        Ok(_) => Ok(()),
        // The far end went away, which is how a connection ends.
        Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => Ok(()),
        Err(error) => Err(error),
    }
}
