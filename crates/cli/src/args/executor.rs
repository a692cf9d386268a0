//! What can be typed after `deft executor`: by Deft itself, as a rule.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::settings::WebAddresses;

#[derive(Subcommand)]
pub(crate) enum Executor {
    /// Serve calls on a socket in a private directory
    Serve(ExecutorServe),
    /// Join standard input and output to the executor of a directory, starting it if need be
    Attach(ExecutorPlace),
    /// Join standard input and output to the executor of a directory, which somebody else starts
    Join {
        /// Where its socket is
        #[arg(long, value_name = "DIR")]
        directory: PathBuf,
        /// Seconds to wait for it
        #[arg(long, default_value_t = 20)]
        wait: u64,
    },
    /// Copy this program to another place, where it can be run
    Install {
        /// The file
        to: PathBuf,
    },
    /// Hold a connection to the executor of a directory, for `send` and `receive`
    Relay(ExecutorRelay),
    /// Bring bytes to the executor of a relay
    Send {
        /// The relay's directory
        #[arg(long, value_name = "DIR")]
        link: PathBuf,
        /// The bytes, as base64
        bytes: String,
    },
    /// Print, as base64, what the executor of a relay says next; nothing if it is silent for long, or `end`
    Receive {
        /// The relay's directory
        #[arg(long, value_name = "DIR")]
        link: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct ExecutorRelay {
    /// The relay's own directory
    #[arg(long, value_name = "DIR")]
    pub(crate) link: PathBuf,
    /// Start no executor
    #[arg(long)]
    pub(crate) only_join: bool,
    #[command(flatten)]
    pub(crate) place: ExecutorPlace,
}

#[derive(Args)]
pub(crate) struct ExecutorServe {
    #[command(flatten)]
    pub(crate) place: ExecutorPlace,
    /// Another directory whose files and repositories may be asked for (can be repeated)
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// A path that is to be mounted from its own place in the workspace (can be repeated)
    #[arg(long, value_name = "PATH")]
    pub(crate) kept: Vec<PathBuf>,
    /// How it is to be shut in
    #[arg(long, value_name = "JSON")]
    pub(crate) plan: Option<String>,
    /// Given to the process that runs inside by the one outside
    #[arg(long, requires = "plan")]
    pub(crate) inside: bool,
    /// What that one is to find mounted (can be repeated)
    #[arg(long, value_name = "JSON", requires = "inside")]
    pub(crate) seen: Vec<String>,
}

#[derive(Args)]
pub(crate) struct ExecutorPlace {
    /// Where the socket and the executor's own files are
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// The directory that tools work in
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: PathBuf,
    /// Seconds to live on without a client
    #[arg(long, default_value_t = 300)]
    pub(crate) linger: u64,
    /// Seconds without new output after which a running command is reported
    #[arg(long, default_value_t = 30)]
    pub(crate) quiet_limit: u64,
    /// What `fetch` and pages in the browser may reach: public, loopback or all
    #[arg(long, value_name = "WHICH")]
    pub(crate) web_addresses: Option<WebAddresses>,
}
