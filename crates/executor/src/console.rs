//! A shell on a terminal of its own, for a person: with keys, colours, a size, and programs that fill the screen.
//!
//! It lives as long as whoever looks at it: when the stream ends, it and all that it has started end. What comes over
//! the stream is what the terminal shows; each piece that goes into it is a [`ConsoleInput`].

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use deft_tools::{Family, SHELL_VARIABLE};
use pty_process::{OwnedReadPty, OwnedWritePty, Pts, Pty, Size};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use uuid::Uuid;

use crate::files::{Roots, through_fd};
use crate::frame::Reply;
use crate::leash::Leash;
use crate::request_error::RequestError;
use crate::stream::{CHUNK_BYTES, Intake, Outlet, Pipe};
use crate::work::{blocking, value};

/// Consoles of a workspace that are open at once.
const MAX_CONSOLES: usize = 16;
/// What is read at once.
const PIECE_BYTES: usize = 32 * 1024;
/// The most of what is typed or pasted that goes in one piece.
const MAX_KEYS: usize = CHUNK_BYTES - 1;
/// How long what was written is waited for after the end of the shell.
const DRAIN_GRACE: Duration = Duration::from_millis(250);
/// How long a shell whose terminal is closed may take to end.
const END_GRACE: Duration = Duration::from_secs(2);
/// The shells that are looked for, the best first.
const SHELLS: [&str; 2] = ["bash", "sh"];

/// A console to open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Console {
    /// How large it is at first.
    pub size: ConsoleSize,
}

/// Letters that a console has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleSize {
    /// Lines.
    pub rows: u16,
    /// Letters in each.
    pub columns: u16,
}

impl ConsoleSize {
    /// No program expects less than one or more than a screen can have.
    fn sensible(self) -> Size {
        Size::new(self.rows.clamp(1, 1000), self.columns.clamp(1, 1000))
    }
}

/// What goes into a console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsoleInput {
    /// What was typed or pasted.
    Keys(Bytes),
    /// It has another size now.
    Size(ConsoleSize),
}

const KEYS: u8 = 0;
const SIZE: u8 = 1;

impl ConsoleInput {
    /// As it goes over the stream.
    pub(crate) fn pieces(self) -> Vec<Bytes> {
        match self {
            Self::Keys(keys) => {
                let piece = |keys: &[u8]| Bytes::from([&[KEYS], keys].concat());
                keys.chunks(MAX_KEYS).map(piece).collect()
            }
            Self::Size(ConsoleSize { rows, columns }) => {
                let mut piece = BytesMut::with_capacity(5);
                piece.put_u8(SIZE);
                piece.put_u16(rows);
                piece.put_u16(columns);
                vec![piece.freeze()]
            }
        }
    }

    fn read(mut piece: Bytes) -> Option<Self> {
        match *piece.split_to(piece.len().min(1)).first()? {
            KEYS => Some(Self::Keys(piece)),
            SIZE => match *piece {
                [a, b, c, d] => Some(Self::Size(ConsoleSize {
                    rows: u16::from_be_bytes([a, b]),
                    columns: u16::from_be_bytes([c, d]),
                })),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Opens consoles in one workspace.
pub(crate) struct Consoles {
    roots: Arc<Roots>,
    env: Vec<(String, String)>,
    room: Semaphore,
}

impl Consoles {
    pub(crate) fn new(roots: Arc<Roots>, env: Vec<(String, String)>) -> Self {
        Self {
            roots,
            env,
            room: Semaphore::new(MAX_CONSOLES),
        }
    }

    /// Runs a shell until it ends or nobody looks at it any more.
    pub(crate) async fn perform(
        &self,
        console: &Console,
        pipe: &mut Pipe<Reply>,
    ) -> Result<Value, RequestError> {
        let _room = self.room.try_acquire().map_err(|_| RequestError::Busy {
            what: "open terminals".to_owned(),
            limit: MAX_CONSOLES,
        })?;
        let (mut child, pty, _leash) = self.start(console).await?;
        let (screen, keys) = pty.into_split();
        let (outlet, intake) = pipe.split();
        let mut shown = pin!(show(screen, outlet));
        tokio::select! {
            () = &mut shown => {}
            () = enter(keys, intake) => return value(None::<i32>),
            _ = child.wait() => {
                let _ = timeout(DRAIN_GRACE, &mut shown).await; // what it left in the background is not waited for
            }
        }
        let status = timeout(END_GRACE, child.wait()).await.ok().and_then(Result::ok);
        value(status.and_then(|status| status.code()))
    }

    async fn start(&self, console: &Console) -> Result<(Child, Pty, Leash), RequestError> {
        let roots = Arc::clone(&self.roots);
        let directory = blocking(move || roots.directory(&roots.absolute(".")?)).await?;
        let mark = Uuid::new_v4().to_string();
        let mut missing = None;
        for shell in SHELLS {
            let (pty, pts) = open(console.size)
                .map_err(|error| RequestError::failed(format!("no terminal can be opened: {error}")))?;
            let command = pty_process::Command::new(shell)
                .arg("-i")
                .env_clear()
                .envs(self.env.iter().map(|(name, value)| (name, value)))
                .env("TERM", "xterm-256color")
                .env(SHELL_VARIABLE, &mark)
                .current_dir(through_fd(&directory))
                .kill_on_drop(true);
            match command.spawn(pts) {
                Ok(child) => {
                    let family = Family {
                        name: mark,
                        shell: child.id(),
                    };
                    return Ok((child, pty, Leash(family)));
                }
                Err(error) => missing = Some(error),
            }
        }
        let reason = missing.map_or_else(String::new, |error| format!(": {error}"));
        Err(RequestError::failed(format!("no shell can be started{reason}")))
    }
}

fn open(size: ConsoleSize) -> pty_process::Result<(Pty, Pts)> {
    let (pty, pts) = pty_process::open()?;
    pty.resize(size.sensible())?;
    Ok((pty, pts))
}

/// Tells what the terminal shows until nothing has it open any more.
async fn show(mut screen: OwnedReadPty, outlet: &Outlet<Reply>) {
    loop {
        let mut piece = BytesMut::with_capacity(PIECE_BYTES);
        match screen.read_buf(&mut piece).await {
            Ok(1..) if outlet.send(piece.freeze()).await.is_ok() => {}
            Ok(_) | Err(_) => return, // a terminal ends with an error
        }
    }
}

/// Gives the shell what is typed until nobody types any more.
async fn enter(mut keys: OwnedWritePty, mut intake: Intake<'_, Reply>) {
    while let Ok(Some(piece)) = intake.receive().await {
        let taken = match ConsoleInput::read(piece) {
            Some(ConsoleInput::Keys(typed)) => keys.write_all(&typed).await,
            Some(ConsoleInput::Size(size)) => keys.resize(size.sensible()).map_err(io::Error::other),
            None => return, // that is no client of ours
        };
        if taken.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_goes_into_a_console_is_read_as_it_was_sent() {
        let size = ConsoleInput::Size(ConsoleSize {
            rows: 24,
            columns: 300,
        });
        let keys = ConsoleInput::Keys(Bytes::from_static(b"ls\r"));
        for input in [size, keys] {
            let pieces = input.clone().pieces();
            assert_eq!(
                pieces.into_iter().map(ConsoleInput::read).collect::<Vec<_>>(),
                [Some(input)]
            );
        }
        let much = ConsoleInput::Keys(Bytes::from(vec![b'x'; 2 * CHUNK_BYTES])).pieces();
        assert!(much.iter().all(|piece| piece.len() <= CHUNK_BYTES));
        for nonsense in [&b""[..], b"\x01abc", b"\x07"] {
            assert_eq!(ConsoleInput::read(Bytes::copy_from_slice(nonsense)), None);
        }
    }
}
