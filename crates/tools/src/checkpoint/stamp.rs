//! What tells without reading that a file is still the same.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

/// A change within this time before a look may share its clock tick with one after it.
const TICK: i64 = 100_000_000;
/// The same, where the file system counts whole seconds.
const COARSE_TICK: i64 = 2 * SECOND;
const SECOND: i64 = 1_000_000_000;

/// Size, times in nanoseconds and inode of a file. Nobody can set the time of the change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: u64,
    pub(super) modified: i64,
    pub(super) changed: i64,
    pub(super) inode: u64,
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        let nanos = |seconds: i64, rest: u64| {
            let rest = i64::try_from(rest).unwrap_or_default();
            seconds.saturating_mul(SECOND).saturating_add(rest)
        };
        Self {
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino,
        }
    }

    /// Whether it could change again, after this moment, without its stamp showing it.
    pub(super) fn is_fresh(&self, moment: i64) -> bool {
        let tick = if self.changed % SECOND == 0 {
            COARSE_TICK
        } else {
            TICK
        };
        self.changed.saturating_add(tick) > moment
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            size,
            modified,
            changed,
            inode,
        } = self;
        write!(f, "{size} {modified} {changed} {inode}")
    }
}

/// The moment as stamps count it.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
