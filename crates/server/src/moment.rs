//! Moments that clients name, in the form that events have them.

use std::time::SystemTime;

use deft_types::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::info::utc;

/// Reads an ISO date and time. One with a zone is turned into this machine's time, which events are written in.
pub(crate) fn read(text: &str) -> Option<Timestamp> {
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp::at(SystemTime::from(instant)));
    }
    let local: DateTime = text.parse().ok()?;
    Some(Timestamp(local.strftime("%Y-%m-%dT%H:%M:%S.%6f").to_string()))
}

/// The same in the form that commands have: that of the whole world, which is also meant where no zone is named.
pub(crate) fn read_utc(text: &str) -> Option<String> {
    let instant = match text.parse::<jiff::Timestamp>() {
        Ok(instant) => instant,
        Err(_) => text
            .parse::<DateTime>()
            .ok()?
            .to_zoned(TimeZone::UTC)
            .ok()?
            .timestamp(),
    };
    Some(utc(SystemTime::from(instant)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_local_time_stays_and_one_with_a_zone_becomes_local() {
        assert_eq!(
            read("2026-11-15T01:14:49.456473").unwrap().0,
            "2026-11-15T01:14:49.456473"
        );
        assert_eq!(
            read("2026-11-15T01:14:49").unwrap().0,
            "2026-11-15T01:14:49.000000"
        );
        let moment = UNIX_EPOCH + Duration::from_secs(86_400);
        assert_eq!(read("1970-01-02T00:00:00Z"), Some(Timestamp::at(moment)));
        assert_eq!(read("1970-01-02T01:00:00+01:00"), Some(Timestamp::at(moment)));
        assert_eq!(read("garbage"), None);
    }

    #[test]
    fn a_moment_for_commands_is_that_of_the_world() {
        let same = Some("2026-11-15T01:14:49.500000Z".to_owned());
        assert_eq!(read_utc("2026-11-15T01:14:49.5Z"), same);
        assert_eq!(read_utc("2026-11-15T03:14:49.5+02:00"), same);
        assert_eq!(read_utc("2026-11-15T01:14:49.5"), same);
        assert_eq!(read_utc("garbage"), None);
    }
}
