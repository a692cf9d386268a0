//! The process that runs tools beside the files, the frames it speaks, and the client that talks to it.
//!
//! It knows tools and nothing of agents, models or servers. The two ends share [`frame`]; begin reading
//! there, then [`Executor`] (what runs calls and keeps their results) and [`Client`] (what asks for them).
//! Beside tool calls people and servers ask for [`Work`]: files, git, plain commands, programs that are talked to, consoles for
//! people and the ports that are served there, every path beneath the roots. [`daemon`] puts an executor on a private
//! socket, so that it outlives a dropped connection or a restarted server.

mod checkpoints;
mod client;
mod console;
pub mod daemon;
mod executor;
mod figures;
mod files;
pub mod frame;
mod git;
mod holding;
mod journal;
mod leash;
mod left_behind;
mod live;
mod ports;
mod program;
mod program_files;
pub mod relay;
mod request_error;
mod shell;
mod sleep;
mod stream;
mod work;

pub use checkpoints::{CheckpointFailure, CheckpointReply, CheckpointRequest};
pub use client::{
    Client, ClientError, CommandUpdate, ConsoleKeys, ConsoleScreen, ConsoleStream, Download, Following,
    Pictures, PortStream, ProgramEnding, ProgramStream, RunningCall, StartedServers, Update, Upload,
};
pub use console::{Console, ConsoleInput, ConsoleSize};
pub use executor::Executor;
pub use figures::Figures;
pub use files::{Entry, EntryKind, EntryPage, FileRequest, GatheredFile, GatheredFiles, Page, is_left_out};
pub use frame::{Hello, Outcome};
pub use git::{
    Against, Change, ChangeStatus, Commit, CommitPage, FileDiff, FileReview, GitRequest, RepositoryInfo,
    Shown,
};
pub use holding::Holding;
pub use left_behind::{DIRECTORY_VARIABLE, END_SCRIPT, end_left_behind};
pub use ports::{ListeningPort, PortRequest};
pub use program::{Program, ProgramEnd};
pub use program_files::{OwnFolder, PointsTo, SecretFile};
pub use request_error::RequestError;
pub use shell::{CommandInfo, EndReason, Ended, OutputChannel, OutputChunk, ShellCommand, ShellRequest};
pub use stream::{CHUNK_BYTES, Signal};
pub use work::Work;
