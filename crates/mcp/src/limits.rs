//! What a server may take: time, room, attention.

use std::time::Duration;

/// Limits that the caller may set.
#[derive(Clone, Debug)]
pub struct Limits {
    /// From the start of a server until its tools are known.
    pub start: Duration,
    /// One call of a tool.
    pub call: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            call: Duration::from_secs(300),
        }
    }
}

/// After so long it is told which servers are still waited for.
pub(crate) const START_PATIENCE: Duration = Duration::from_secs(2);
/// Tools of one server; further ones are left out.
pub(crate) const MAX_TOOLS: usize = 128;
/// Tools of one server that are known by what was said of them first; a server could invent names for ever.
pub(crate) const MAX_PINNED: usize = 4 * MAX_TOOLS;
/// Pages of a list of tools; a server could give them for ever.
pub(crate) const MAX_PAGES: usize = 64;
/// Characters of a tool's description.
pub(crate) const MAX_DESCRIPTION: usize = 1_024;
/// Bytes of a tool's schema, as JSON.
pub(crate) const MAX_SCHEMA: usize = 16 * 1024;
/// Characters of a result that a model is shown; the whole is kept in a file.
pub(crate) const MAX_SHOWN: usize = 30_000;
/// Bytes of one image, in base64.
pub(crate) const MAX_IMAGE: usize = 5 * 1024 * 1024;
/// Images of one result.
pub(crate) const MAX_IMAGES: usize = 8;
/// Bytes of one message from a server.
pub(crate) const MAX_MESSAGE: usize = 32 * 1024 * 1024;
/// Bytes of a server's last words that are kept.
pub(crate) const MAX_LAST_WORDS: usize = 2_000;
/// Characters of an error from a server that are passed on.
pub(crate) const MAX_ERROR: usize = 4_000;
/// How long a server may take to end when it is asked to.
pub(crate) const CLOSE_GRACE: Duration = Duration::from_millis(500);
/// How long telling a server of a cancelled call may take.
pub(crate) const CANCEL_GRACE: Duration = Duration::from_secs(1);
/// Between two looks at a list of tools that changes all the time.
pub(crate) const RELIST_PAUSE: Duration = Duration::from_secs(1);
/// The same when it does not stop.
pub(crate) const MAX_RELIST_PAUSE: Duration = Duration::from_secs(60);
/// How long a server is left alone that could not be started; twice as long after each failure.
pub(crate) const FIRST_REST: Duration = Duration::from_secs(1);
/// How often it is tried again without being asked for: in a minute, all in all.
pub(crate) const MAX_RESTARTS: u32 = 6;
/// Calls that wait for one server to be started again.
pub(crate) const MAX_WAITING: usize = 32;
