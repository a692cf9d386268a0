//! The streams of an `ssh` that joins us to an executor.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader, ReadBuf};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::ssh::complaint;

/// What is written goes to the other machine, what is read comes from there. Dropping it ends the `ssh`.
pub(crate) struct SshStream {
    _ssh: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What came of starting an `ssh`.
pub(crate) enum Begun {
    /// The executor has said something.
    Joined(Box<SshStream>),
    /// It ended before that.
    Ended(std::process::ExitStatus, String),
}

impl SshStream {
    /// Waits until there is something to read, or the end.
    pub(crate) async fn begin(mut ssh: Child) -> io::Result<Begun> {
        let piped = || io::Error::other("its streams are not connected");
        let input = ssh.stdin.take().ok_or_else(piped)?;
        let mut output = BufReader::new(ssh.stdout.take().ok_or_else(piped)?);
        let errors = ssh.stderr.take();
        if !output.fill_buf().await?.is_empty() {
            return Ok(Begun::Joined(Box::new(Self {
                _ssh: ssh,
                input,
                output,
            })));
        }
        let complaint = complaint(errors).await?;
        Ok(Begun::Ended(ssh.wait().await?, complaint))
    }
}

impl AsyncRead for SshStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_read(context, buffer)
    }
}

impl AsyncWrite for SshStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.input).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_shutdown(context)
    }
}
