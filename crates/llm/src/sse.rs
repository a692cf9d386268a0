//! Server-sent events: the framing that models stream their replies in.

#[cfg(test)]
mod tests;

use crate::ModelError;

/// An event may not be longer than this, so that a server that never ends one cannot fill the memory.
pub(crate) const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// An event longer than [`MAX_EVENT_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLong;

impl From<EventTooLong> for ModelError {
    fn from(EventTooLong: EventTooLong) -> Self {
        Self::Protocol {
            detail: format!("an event of more than {MAX_EVENT_BYTES} bytes"),
        }
    }
}

/// Turns bytes, cut anywhere, into the `data` of events. Other fields and comments are skipped.
#[derive(Default)]
pub(crate) struct SseParser {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The data lines of the event that has not ended yet.
    data: Option<String>,
    /// The last byte was a carriage return: a line feed now belongs to it.
    after_return: bool,
    past_first_line: bool,
}

impl SseParser {
    /// Takes the next bytes; returns the data of the events that they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<String>, EventTooLong> {
        let mut events = Vec::new();
        if !bytes.is_empty() && std::mem::take(&mut self.after_return) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&bytes[..end])?;
            let ending = bytes[end];
            bytes = &bytes[end + 1..];
            match (ending, bytes) {
                (b'\r', [b'\n', rest @ ..]) => bytes = rest,
                (b'\r', []) => self.after_return = true,
                _ => {}
            }
            events.extend(self.end_line());
        }
        self.extend_line(bytes)?;
        Ok(events)
    }

    /// The data of a last event that the stream broke off without ending it.
    pub(crate) fn finish(&mut self) -> Option<String> {
        self.end_line().or_else(|| self.data.take())
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        let pending = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if pending + bytes.len() > MAX_EVENT_BYTES {
            return Err(EventTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads the line that is now whole. An empty one ends an event.
    fn end_line(&mut self) -> Option<String> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = bytes.as_slice();
        if !std::mem::replace(&mut self.past_first_line, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return self.data.take();
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        if field == b"data" {
            let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&value);
                }
                None => self.data = Some(value.into_owned()),
            }
        }
        None
    }
}
