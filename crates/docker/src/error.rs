//! Why a container cannot be had.

use std::io;
use std::path::PathBuf;

use deft_workspace::{WorkspaceError, says_disk_is_full};

/// Why there is no talking to a container. Each says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum DockerError {
    /// No socket of an engine was found. Install or start one.
    #[error(
        "no Docker or Podman was found on this machine; start it (`systemctl start docker`, or `systemctl --user \
         start podman.socket`), or set DOCKER_HOST to its socket, as in unix:///run/docker.sock"
    )]
    NoEngine,
    /// The engine's address is not a socket of this machine. Name one.
    #[error(
        "DOCKER_HOST is '{0}', but only sockets of this machine can be used; forward the engine's socket to this \
         machine (`ssh -L /tmp/docker.sock:/run/docker.sock HOST`) and set DOCKER_HOST=unix:///tmp/docker.sock"
    )]
    Address(String),
    /// Nobody answers at the socket. Start the engine.
    #[error(
        "nothing answers at {}: {reason}; start Docker (`systemctl start docker`) or Podman (`systemctl --user start \
         podman.socket`)", .socket.display()
    )]
    Down {
        /// The engine's socket.
        socket: PathBuf,
        /// What was seen.
        reason: io::Error,
    },
    /// The socket is there, but not for us. Get the right to use it.
    #[error(
        "no permission to use {}; add yourself to the group it belongs to (`sudo usermod -aG docker $USER`, then log \
         in again), or use rootless Docker or Podman", .0.display()
    )]
    NoPermission(PathBuf),
    /// The engine did not answer in time. Look at its log.
    #[error(
        "the container engine did not {0} in time; look at its log (`journalctl -u docker`) and try again"
    )]
    Slow(&'static str),
    /// The connection to the engine broke, or it said something that is not its API.
    #[error("the container engine could not {what}: {reason}; try again")]
    Broken {
        /// What it was to do.
        what: &'static str,
        /// What was seen.
        reason: String,
    },
    /// The engine refused. What it says tells why.
    #[error("the container engine refused to {what}: {message}")]
    Refused {
        /// What it was to do.
        what: &'static str,
        /// The HTTP status.
        status: u16,
        /// Its reason.
        message: String,
    },
    /// There is no room left where the engine keeps its things. Make some.
    #[error(
        "the container engine has no room left on its disk: {0}; remove what is not needed (`deft images prune`, `docker \
         system prune`) and try again"
    )]
    NoSpace(String),
    /// The image is neither here nor at its registry. Name another one.
    #[error(
        "there is no image '{image}', neither here nor at its registry: {message}; check its name, or log in and pull \
         it yourself (`docker pull {image}`)"
    )]
    NoSuchImage {
        /// The image.
        image: String,
        /// What the registry said.
        message: String,
    },
    /// The image could not be fetched. Look at the network.
    #[error(
        "the image '{image}' is not here and could not be pulled: {message}; check the network, or load it yourself \
         (`docker load`)"
    )]
    Pull {
        /// The image.
        image: String,
        /// What was seen.
        message: String,
    },
    /// The image is here for another platform only. Name that, or another image.
    #[error(
        "the image is here, but for another platform, and could not be pulled for this one: {0}; leave out `platform`, or \
         load the image for it yourself (`docker pull --platform …`)"
    )]
    OtherPlatform(String),
    /// The engine made a container that lacks something, and did not say so. Leave that out, or use another engine.
    #[error(
        "the container engine did not make the container as it was asked to: {0}; leave that out, or use another engine"
    )]
    NotGiven(String),
    /// The kernel killed the executor because the container had used up its memory.
    #[error(
        "the container used up its {} MiB of memory and was killed; what ran in it is lost, it has been started anew; \
         raise its memory limit, or run less at the same time", .limit / (1024 * 1024)
    )]
    OutOfMemory {
        /// The container's limit in bytes.
        limit: u64,
    },
    /// The executor ended by itself before anybody could talk to it.
    #[error(
        "the executor ended in its container with exit code {code}: {log}; check that the image is for this machine's \
         processor, and that the workspace is readable for its owner"
    )]
    Ended {
        /// Its exit code.
        code: i64,
        /// The end of what it wrote.
        log: String,
    },
    /// The container was made by another version of this program. Remove it.
    #[error(
        "the container {container} was made by version {theirs} of this program, and this is {ours}; remove it \
         (`docker rm -f {container}`) to get a new one: the files of the workspace stay, what was installed beside \
         them goes"
    )]
    Version {
        /// The container's name.
        container: String,
        /// Its version.
        theirs: String,
        /// Ours.
        ours: &'static str,
    },
    /// This program cannot be read in order to copy it. Look at the path.
    #[error("{} cannot be brought into a container: {reason}", .path.display())]
    Program {
        /// Where it should be.
        path: PathBuf,
        /// What was seen.
        reason: String,
    },
    /// There is no such plugin, or its manifest is wrong. Name another one.
    #[error("the plugin '{name}' cannot be used: {reason}")]
    Plugin {
        /// What was asked for.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// This cannot be a package or a program. Write it as its distribution does.
    #[error("'{0}' is no name of a package or program; write letters, digits and + - . _ : = ~ @ /")]
    PackageName(String),
    /// The setup script cannot be read. Look at the path.
    #[error("the setup script {} cannot be used: {reason}; name a file of this machine", .path.display())]
    Setup {
        /// Where it should be.
        path: PathBuf,
        /// What was seen.
        reason: String,
    },
    /// What was to be put on an image failed. The log tells why.
    #[error(
        "the image with {content} could not be built: {message}; mend what its log tells, and try again: {log}"
    )]
    Build {
        /// What it was to have.
        content: String,
        /// What the engine said.
        message: String,
        /// The end of the build's log.
        log: String,
    },
    /// Somebody put a link in the place of the files' directory, which could lead anywhere.
    #[error(
        "{} has become a link to {} since this conversation began, and is not followed; put the directory back, or \
         begin a conversation in the other one", path.display(), to.display()
    )]
    Link {
        /// The directory as it was named.
        path: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// Settings in the directory that act outside cannot be kept from changes. Look at the path.
    #[error(
        "what git obeys in {} cannot be protected from the container: {reason}; see to it that you may write there, \
         or use a volume", .path.display()
    )]
    Keep {
        /// The directory.
        path: PathBuf,
        /// What was seen.
        reason: String,
    },
    /// The directory to work in is not there.
    #[error("the workspace {} does not exist or is not a directory; create it or name another one", .0.display())]
    Missing(PathBuf),
}

impl DockerError {
    /// The error for these words of the engine, if they are about its disk.
    pub(crate) fn full(words: &str) -> Option<Self> {
        says_disk_is_full(words).then(|| Self::NoSpace(words.to_owned()))
    }
}

impl From<DockerError> for WorkspaceError {
    fn from(error: DockerError) -> Self {
        match error {
            DockerError::Missing(path) => Self::Missing(path),
            error => Self::Kind(Box::new(error)),
        }
    }
}
