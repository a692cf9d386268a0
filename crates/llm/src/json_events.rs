//! The JSON texts of an answer, and the part of reading them that is the same for all wire formats.

use crate::api::AnswerReader;
use crate::sse::{EventTooLong, MAX_EVENT_BYTES, SseParser};
use crate::{Delta, FinishReason, ModelError, Usage};

/// Makes deltas of the JSON texts of an answer.
pub(crate) trait JsonReader: Default + Send {
    /// Takes the data of an event.
    fn event(&mut self, json: &str, deltas: &mut Vec<Delta>) -> Result<(), ModelError>;

    /// Takes the one object of a server that does not stream.
    fn whole(&mut self, json: &str, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        self.event(json, deltas)
    }

    /// Why the reply ended, once there are no more texts, and what was still to be said.
    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<FinishReason, ModelError>;

    /// As [`AnswerReader::usage`].
    fn usage(&self) -> Option<Usage>;

    /// As [`AnswerReader::is_whole`].
    fn is_whole(&self) -> bool;

    /// As [`AnswerReader::is_done`].
    fn is_done(&self) -> bool;
}

/// An answer, cut anywhere: a stream of events, or one JSON object from a server that does not stream.
#[derive(Default)]
pub(crate) struct JsonAnswer<R> {
    texts: JsonEvents,
    reader: R,
}

impl<R: JsonReader> AnswerReader for JsonAnswer<R> {
    fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, ModelError> {
        let mut deltas = Vec::new();
        for json in self.texts.feed(bytes)? {
            self.reader.event(&json, &mut deltas)?;
        }
        Ok(deltas)
    }

    fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        let mut deltas = Vec::new();
        match self.texts.finish() {
            None => {}
            Some(Last::Whole(json)) => self.reader.whole(&json, &mut deltas)?,
            Some(Last::Event(json)) => match self.reader.event(&json, &mut deltas) {
                // An event that does not parse was cut off: whether that matters is decided below.
                Ok(()) | Err(ModelError::Protocol { .. }) => {}
                Err(error) => return Err(error),
            },
        }
        let finish = self.reader.end(&mut deltas)?;
        deltas.extend(self.usage().map(Delta::Usage));
        deltas.push(Delta::Finished(finish));
        Ok(deltas)
    }

    fn usage(&self) -> Option<Usage> {
        self.reader.usage()
    }

    fn is_whole(&self) -> bool {
        self.reader.is_whole()
    }

    fn is_done(&self) -> bool {
        self.reader.is_done()
    }
}

/// Splits an answer, cut anywhere, into JSON texts: the data of its events, or the one object that a server
/// which does not stream sends.
#[derive(Default)]
enum JsonEvents {
    /// Nothing but blanks has come.
    #[default]
    Unknown,
    /// Events.
    Events(SseParser),
    /// One object, as far as it has come.
    Whole(Vec<u8>),
}

/// The last text of an answer.
enum Last {
    /// Of an event, perhaps cut off.
    Event(String),
    /// The one object.
    Whole(String),
}

impl JsonEvents {
    /// Takes the next bytes; returns the texts that they complete.
    fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<String>, EventTooLong> {
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

    /// The last text, once there are no more bytes.
    fn finish(&mut self) -> Option<Last> {
        match std::mem::take(self) {
            Self::Unknown => None,
            Self::Whole(body) => Some(Last::Whole(String::from_utf8_lossy(&body).into_owned())),
            Self::Events(mut parser) => parser.finish().map(Last::Event),
        }
    }
}
