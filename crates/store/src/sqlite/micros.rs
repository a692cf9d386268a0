//! Moments as the database holds them: microseconds since 1970.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment as a number; one before 1970 is 1970.
pub(super) fn from_time(moment: SystemTime) -> i64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The moment that a number stands for.
pub(super) fn to_time(micros: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
