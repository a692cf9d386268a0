//! The streams of an `ssh` that joins us to an executor.

use std::io;

use deft_executor::Holding;
use tokio::io::{AsyncBufReadExt, BufReader, Join};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::ssh::complaint;

/// What is written goes to the other machine, what is read comes from there. Dropping it ends the `ssh`.
pub(crate) type SshStream = Holding<Join<BufReader<ChildStdout>, ChildStdin>, Child>;

/// What came of starting an `ssh`.
pub(crate) enum Begun {
    /// The executor has said something.
    Joined(Box<SshStream>),
    /// It ended before that.
    Ended(std::process::ExitStatus, String),
}

/// Waits until there is something to read, or the end.
pub(crate) async fn begin(mut ssh: Child) -> io::Result<Begun> {
    let piped = || io::Error::other("its streams are not connected");
    let input = ssh.stdin.take().ok_or_else(piped)?;
    let mut output = BufReader::new(ssh.stdout.take().ok_or_else(piped)?);
    let errors = ssh.stderr.take();
    if !output.fill_buf().await?.is_empty() {
        let stream = tokio::io::join(output, input);
        return Ok(Begun::Joined(Box::new(Holding::new(stream, ssh))));
    }
    let complaint = complaint(errors).await?;
    Ok(Begun::Ended(ssh.wait().await?, complaint))
}
