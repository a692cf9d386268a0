//! The binary framing of AWS event streams: `application/vnd.amazon.eventstream`.
//!
//! A frame is its length, the length of its headers, a checksum of these two, the headers, the payload, and a
//! checksum of everything before. Numbers are big-endian.

#[cfg(test)]
pub(super) mod tests;

/// A frame may not be longer than this; AWS allows no longer one either.
const MAX_FRAME_BYTES: usize = 24 * 1024 * 1024;

/// The two lengths and their checksum.
const PRELUDE: usize = 12;

/// The checksum at the end.
const TAIL: usize = 4;

/// The type of a header whose value is text.
const TEXT: u8 = 7;

/// One frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Headers with text; others are skipped.
    headers: Vec<(String, String)>,
    /// Usually JSON.
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// The header of that name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find_map(|(own, value)| (own == name).then_some(value.as_str()))
    }
}

/// What is wrong with a frame.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadFrame {
    #[error("a frame whose checksum is wrong")]
    Checksum,
    #[error("a frame of {0} bytes")]
    Length(usize),
    #[error("a frame whose headers make no sense")]
    Headers,
}

/// Turns bytes, cut anywhere, into frames.
#[derive(Default)]
pub(super) struct FrameParser {
    bytes: Vec<u8>,
}

impl FrameParser {
    /// Takes the next bytes; returns the frames that they complete, up to the first that is bad.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Result<Frame, BadFrame>> {
        self.bytes.extend_from_slice(bytes);
        let mut frames = Vec::new();
        let mut rest = self.bytes.as_slice();
        while let Some(next) = next(rest).transpose() {
            let end = next.is_err();
            frames.push(next.map(|(frame, after)| {
                rest = after;
                frame
            }));
            if end {
                break;
            }
        }
        let used = self.bytes.len() - rest.len();
        self.bytes.drain(..used);
        frames
    }
}

/// The first frame and what follows it; `None` while it has not come as a whole.
fn next(bytes: &[u8]) -> Result<Option<(Frame, &[u8])>, BadFrame> {
    let Some(length) = frame_length(bytes)? else {
        return Ok(None);
    };
    let Some((frame, after)) = bytes.split_at_checked(length) else {
        return Ok(None);
    };
    Ok(Some((read(frame)?, after)))
}

/// How long the frame at the beginning is; `None` while that has not come.
fn frame_length(bytes: &[u8]) -> Result<Option<usize>, BadFrame> {
    let (Some(length), Some(checksum)) = (number(bytes, 0), number(bytes, 8)) else {
        return Ok(None);
    };
    if crc32fast::hash(&bytes[..8]) != checksum {
        return Err(BadFrame::Checksum);
    }
    let length = length as usize;
    if (PRELUDE + TAIL..=MAX_FRAME_BYTES).contains(&length) {
        Ok(Some(length))
    } else {
        Err(BadFrame::Length(length))
    }
}

/// Reads a whole frame, which has at least a prelude and a tail.
fn read(frame: &[u8]) -> Result<Frame, BadFrame> {
    let (covered, tail) = frame
        .split_at_checked(frame.len() - TAIL)
        .ok_or(BadFrame::Length(frame.len()))?;
    if number(tail, 0) != Some(crc32fast::hash(covered)) {
        return Err(BadFrame::Checksum);
    }
    let headers_length = number(frame, 4).ok_or(BadFrame::Headers)? as usize;
    let (headers, payload) = covered
        .get(PRELUDE..)
        .and_then(|rest| rest.split_at_checked(headers_length))
        .ok_or(BadFrame::Headers)?;
    Ok(Frame {
        headers: read_headers(headers).ok_or(BadFrame::Headers)?,
        payload: payload.to_vec(),
    })
}

fn read_headers(mut bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let mut headers = Vec::new();
    while let Some((length, rest)) = bytes.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let (length, rest) = match kind {
            0 | 1 => (0, rest),
            2 => (1, rest),
            3 => (2, rest),
            4 => (4, rest),
            5 | 8 => (8, rest),
            9 => (16, rest),
            6 | &TEXT => {
                let (length, rest) = rest.split_first_chunk()?;
                (usize::from(u16::from_be_bytes(*length)), rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        if *kind == TEXT {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            headers.push((text(name), text(value)));
        }
        bytes = rest;
    }
    Some(headers)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
