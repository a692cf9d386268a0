//! When an event happened, as the wire writes it.

use std::fmt;
use std::time::SystemTime;

use jiff::Zoned;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// Local time with microseconds and no zone: `2026-11-15T01:14:49.212782`. Kept as text, because clients
/// compare it as text and what came in must go out unchanged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub String);

impl Timestamp {
    /// The wire form of a moment, in the machine's time zone.
    pub fn at(moment: SystemTime) -> Self {
        let instant = jiff::Timestamp::try_from(moment).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        Self(
            Zoned::new(instant, TimeZone::system())
                .datetime()
                .strftime("%Y-%m-%dT%H:%M:%S.%6f")
                .to_string(),
        )
    }

    /// The moment that it stands for in the machine's time zone, if it can be read.
    pub fn moment(&self) -> Option<SystemTime> {
        let local: jiff::civil::DateTime = self.0.parse().ok()?;
        Some(local.to_zoned(TimeZone::system()).ok()?.timestamp().into())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn always_has_six_digits_of_a_second() {
        let moment = UNIX_EPOCH + Duration::from_secs(1_794_704_089);
        let text = Timestamp::at(moment);
        assert_eq!(text.0.len(), "2026-11-15T01:14:49.000000".len());
        assert!(text.0.ends_with(".000000"), "{text}");
        assert_eq!(text.moment(), Some(moment));
    }
}
