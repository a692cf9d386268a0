//! The way to an executor through a server that can run commands and take files.
//!
//! Our program is uploaded once a version to the cache directory of the user there. It holds the connection to the
//! executor in a process of its own (`deft executor relay`), and short commands carry bytes to that and from it.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use deft_executor::END_SCRIPT;
use deft_workspace::Program;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use uuid::Uuid;

use crate::carried::{Carried, carried};
use crate::error::RemoteError;
use crate::server::AgentServer;
use crate::workspace::{RemoteWorkspace, Start};

/// The most that one command carries: a command line has at most 128 KiB, and this is told in letters.
const PIECE_BYTES: usize = 64 * 1024;
/// How long a short command may take; one that receives waits for something to say.
const COMMAND_LIMIT: Duration = Duration::from_secs(90);
/// How long a connection lasts at most.
const CONNECTION_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Our places at the server, for its shell.
struct Places {
    hash: String,
    conversation: String,
    /// The directory of this connection's relay.
    link: String,
}

impl Places {
    /// A command of our program there.
    fn ours(&self, arguments: &str) -> String {
        format!("{} exec \"$program\" executor {arguments}", self.variables())
    }

    fn variables(&self) -> String {
        let Self {
            hash,
            conversation,
            link,
        } = self;
        format!(
            "cache=\"$HOME/.cache/deft\"; program=\"$cache/{hash}/deft\"; place=\"$cache/run/{conversation}\"; \
             link=\"$place-{link}\"; umask 077;"
        )
    }
}

/// A stream to the executor of a workspace; none, where none is to be started and our program is not there.
pub(crate) async fn open(
    server: &AgentServer,
    workspace: &RemoteWorkspace,
    start: Start,
) -> Result<Option<Carried>, RemoteError> {
    let unreadable = |error: std::io::Error| RemoteError::Program {
        path: workspace.program.clone(),
        reason: error.to_string(),
    };
    let program = Program::of(&workspace.program).await;
    let places = Places {
        hash: program.map_err(unreadable)?.hash,
        conversation: workspace.conversation.hex(),
        link: Uuid::new_v4().simple().to_string().chars().take(8).collect(),
    };
    if let Some(path) = missing(server, &places).await? {
        if start == Start::Never {
            return Ok(None); // nothing is brought there to look
        }
        let file = workspace.program.clone();
        let read = tokio::task::spawn_blocking(|| std::fs::read(file)).await;
        let program = read.map_err(std::io::Error::other).flatten();
        bring(server, &path, &program.map_err(unreadable)?).await?;
    }
    let start = match start {
        Start::IfNeeded => "",
        Start::Never => "--only-join ",
    };
    let relay = places.ours(&format!(
        "relay --link \"$link\" {start}--directory \"$place\" --workspace {} {}",
        quote(&workspace.directory),
        workspace.terms.arguments().join(" ")
    ));
    server
        .start("start our program", &relay, CONNECTION_LIMIT)
        .await?;
    let tunnel = Tunnel {
        server: server.clone(),
        places,
    };
    match tunnel.receive().await? {
        Some(first) => Ok(Some(carried(|far| tunnel.carry(first, far)))),
        None => Err(server
            .http
            .broken("join its executor", &"the connection ended at once")),
    }
}

/// Ends what runs for a conversation, deletes what is kept for it, and our programs with the last one. A Deft whose socket
/// we use has nothing of ours.
pub(crate) async fn remove(server: &AgentServer, workspace: &RemoteWorkspace) -> Result<(), RemoteError> {
    let what = "remove what we brought there";
    let conversation = workspace.conversation.hex();
    let script = format!(
        "cache=\"$HOME/.cache/deft\"; run=\"$cache/run\"; place=\"$run/{conversation}\"; [ -d \"$place\" ] || exit 0\n\
         for process in /proc/[0-9]*; do\n\
         tr '\\0' ' ' <\"$process/cmdline\" 2>/dev/null | grep -q \"^$cache/[0-9a-f]*/deft executor .*$place\" && kill \"${{process#/proc/}}\"\n\
         done 2>/dev/null\n\
         {END_SCRIPT}rm -rf \"$place\" \"$place\"-*; rmdir \"$run\" 2>/dev/null || exit 0\n\
         for program in \"$cache\"/*/deft; do rm -f \"$program\"; rmdir \"${{program%/*}}\" 2>/dev/null; done\n\
         rmdir \"$cache\" 2>/dev/null; exit 0"
    );
    let ran = server.run(what, &script, COMMAND_LIMIT).await?;
    match ran.exit_code {
        Some(0) => Ok(()),
        _ => Err(server.http.broken(what, &ran.stderr())),
    }
}

/// Where our program is to be there, unless it is there.
async fn missing(server: &AgentServer, places: &Places) -> Result<Option<String>, RemoteError> {
    let look = format!(
        "{} uname -sm; printf '%s\\n' \"$program\"; [ -x \"$program\" ] && echo there || true",
        places.variables()
    );
    let looked = server.run("look for our program", &look, COMMAND_LIMIT).await?;
    let mut lines = looked.stdout().lines();
    let (theirs, path) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let ours = format!("Linux {}", std::env::consts::ARCH);
    if theirs != ours {
        return Err(RemoteError::Platform {
            server: server.http.name(),
            theirs: theirs.to_owned(),
            ours,
        });
    }
    if !path.starts_with('/') {
        return Err(server.http.broken("look for our program", &looked.stderr()));
    }
    Ok((lines.next() != Some("there")).then(|| path.to_owned()))
}

/// Brings our program there.
async fn bring(server: &AgentServer, path: &str, program: &[u8]) -> Result<(), RemoteError> {
    let what = "put our program in its place";
    let run = async |script: String| {
        let ran = server.run(what, &script, COMMAND_LIMIT).await?;
        match ran.exit_code {
            Some(0) => Ok(()),
            _ => Err(server.http.broken(what, &ran.stderr())),
        }
    };
    let (new, path) = (format!("{path}.{}", Uuid::new_v4().simple()), quote(path));
    run(format!(
        "umask 077; mkdir -p \"$(dirname {path})\" \"$HOME/.cache/deft/run\""
    ))
    .await?;
    server.upload(&new, program).await?;
    // It is in its place only when all of it has arrived.
    run(format!("chmod 700 {0} && mv -f {0} {path}", quote(&new))).await
}

struct Tunnel {
    server: AgentServer,
    places: Places,
}

impl Tunnel {
    /// What the executor says next; nothing at the end.
    async fn receive(&self) -> Result<Option<Vec<u8>>, RemoteError> {
        let what = "tell what its executor says";
        let command = self.places.ours("receive --link \"$link\"");
        loop {
            let ran = self.server.run(what, &command, COMMAND_LIMIT).await?;
            if ran.exit_code != Some(0) {
                let reason = ran.stderr().trim_start_matches("deft: ");
                return Err(self.server.http.unopened(reason));
            }
            match ran.stdout() {
                "" => {} // it had nothing to say
                "end" => return Ok(None),
                text => {
                    let bytes = BASE64_STANDARD.decode(text);
                    return bytes
                        .map(Some)
                        .map_err(|error| self.server.http.broken(what, &error));
                }
            }
        }
    }

    async fn send(&self, bytes: &[u8]) -> Result<(), RemoteError> {
        let what = "tell its executor something";
        let text = BASE64_STANDARD.encode(bytes);
        let command = self.places.ours(&format!("send --link \"$link\" {text}"));
        let ran = self.server.run(what, &command, COMMAND_LIMIT).await?;
        match ran.exit_code {
            Some(0) => Ok(()),
            _ => Err(self.server.http.broken(what, &ran.stderr())),
        }
    }

    async fn carry(self, first: Vec<u8>, far: DuplexStream) {
        let (mut from_us, mut to_us) = tokio::io::split(far);
        let down = async {
            let mut bytes = first;
            while to_us.write_all(&bytes).await.is_ok() {
                match self.receive().await? {
                    Some(more) => bytes = more,
                    None => break,
                }
            }
            Ok::<(), RemoteError>(())
        };
        let up = async {
            let mut piece = vec![0; PIECE_BYTES];
            loop {
                let count = from_us.read(&mut piece).await.unwrap_or(0);
                if count == 0 {
                    return std::future::pending().await; // the last answers are still to come
                }
                self.send(&piece[..count]).await?;
            }
        };
        let ended = tokio::select! {
            ended = down => ended,
            ended = up => ended,
        };
        if let Err(error) = ended {
            tracing::debug!("the connection to a remote executor ended: {error}");
        }
    }
}

/// One word for a shell, whatever is in it.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
