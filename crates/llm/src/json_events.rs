//! The JSON texts of an answer.

use crate::sse::{EventTooLong, MAX_EVENT_BYTES, SseParser};

/// Splits an answer, cut anywhere, into JSON texts: the data of its events, or the one object that a server
/// which does not stream sends.
#[derive(Default)]
pub(crate) enum JsonEvents {
    /// Nothing but blanks has come.
    #[default]
    Unknown,
    /// Events.
    Events(SseParser),
    /// One object, as far as it has come.
    Whole(Vec<u8>),
}

impl JsonEvents {
    /// Takes the next bytes; returns the texts that they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<String>, EventTooLong> {
        if let Self::Unknown = self {
            bytes = bytes.trim_ascii_start();
            match bytes.first() {
                None => return Ok(Vec::new()),
                Some(b'{' | b'[' | b'<') => *self = Self::Whole(Vec::new()),
                Some(_) => *self = Self::Events(SseParser::default()),
            }
        }
        match self {
            Self::Unknown => Ok(Vec::new()),
            Self::Whole(body) if body.len() + bytes.len() > MAX_EVENT_BYTES => Err(EventTooLong),
            Self::Whole(body) => {
                body.extend_from_slice(bytes);
                Ok(Vec::new())
            }
            Self::Events(parser) => parser.feed(bytes),
        }
    }

    /// The last text, once there are no more bytes. One of events may be cut off.
    pub(crate) fn finish(&mut self) -> Option<String> {
        match std::mem::take(self) {
            Self::Unknown => None,
            Self::Whole(body) => Some(String::from_utf8_lossy(&body).into_owned()),
            Self::Events(mut parser) => parser.finish(),
        }
    }
}
