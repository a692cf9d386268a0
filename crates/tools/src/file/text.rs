//! The text of a file, and the way back to its bytes: encoding and line ends stay as they were.

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

/// How the bytes of a file spell its text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Encoding {
    Utf8,
    Utf8WithMark,
    Utf16Le,
    Utf16Be,
    /// What is no UTF-8 and has no mark; holds Latin-1 too, and every byte survives.
    Windows1252,
}

/// How lines end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LineEnd {
    Lf,
    CrLf,
    Cr,
}

impl LineEnd {
    fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }
}

/// What stands between two places of [`Text::plain`] is to become something else, with plain line ends.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) new: String,
}

/// A decoded file. [`Text::plain`] has `\n` at all line ends; edits are made by places in it and touch nothing
/// of the file around them, not even line ends that differ from the others.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    encoding: Encoding,
    line_end: LineEnd,
    raw: String,
    /// None where it is the same as `raw`.
    plain: Option<String>,
    /// Where in `plain` a line break stands for two characters of `raw`.
    shortened: Vec<usize>,
}

impl Text {
    /// Decodes a file; `None` if it is binary.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (encoding, raw) = decode(bytes)?;
        Some(Self::new(encoding, raw))
    }

    /// The text of a new file.
    pub(crate) fn of_new_file(text: &str) -> Self {
        Self::new(Encoding::Utf8, text.to_owned())
    }

    fn new(encoding: Encoding, raw: String) -> Self {
        // Nearly every file: no need to look for anything else in a large one.
        if memchr::memchr(b'\r', raw.as_bytes()).is_none() {
            return Self {
                encoding,
                line_end: LineEnd::Lf,
                plain: None,
                raw,
                shortened: Vec::new(),
            };
        }
        let breaks = raw.matches('\n').count();
        let long_breaks = raw.matches("\r\n").count();
        let line_end = match () {
            () if breaks == 0 && raw.contains('\r') => LineEnd::Cr,
            () if long_breaks * 2 > breaks => LineEnd::CrLf,
            () => LineEnd::Lf,
        };
        let plain = match line_end {
            LineEnd::Cr => raw.replace('\r', "\n"),
            LineEnd::Lf | LineEnd::CrLf => raw.replace("\r\n", "\n"),
        };
        let shortened = raw
            .match_indices("\r\n")
            .enumerate()
            .map(|(before, (at, _))| at - before)
            .collect();
        Self {
            encoding,
            line_end,
            raw,
            plain: Some(plain),
            shortened,
        }
    }

    /// The text with `\n` at the end of each line.
    pub(crate) fn plain(&self) -> &str {
        self.plain.as_deref().unwrap_or(&self.raw)
    }

    /// The same, where nothing else is needed any more.
    pub(crate) fn into_plain(self) -> String {
        self.plain.unwrap_or(self.raw)
    }

    /// What a text given by the model looks like in `plain`.
    pub(crate) fn as_plain(&self, given: &str) -> String {
        match self.line_end {
            LineEnd::Lf if self.shortened.is_empty() => given.to_owned(),
            LineEnd::Lf | LineEnd::CrLf | LineEnd::Cr => given.replace("\r\n", "\n"),
        }
    }

    /// Puts `new` (with plain line ends) in the place of a part of `plain`.
    pub(crate) fn replaced(&self, from: usize, to: usize, new: &str) -> Self {
        self.edited(&[Edit {
            from,
            to,
            new: new.to_owned(),
        }])
    }

    /// Another text, given by the model, in the same encoding and with the same line ends.
    pub(crate) fn rewritten(&self, given: &str) -> Self {
        self.replaced(0, self.plain().len(), &self.as_plain(given))
    }

    /// Makes several edits, which must stand in their order and not overlap.
    pub(crate) fn edited(&self, edits: &[Edit]) -> Self {
        let raw_place = |place| place + self.shortened.partition_point(|at| *at < place);
        let mut raw = String::with_capacity(self.raw.len());
        let mut done = 0;
        for edit in edits {
            raw.push_str(&self.raw[done..raw_place(edit.from)]);
            match self.line_end {
                LineEnd::Lf => raw.push_str(&edit.new),
                LineEnd::CrLf | LineEnd::Cr => {
                    raw.push_str(&edit.new.replace('\n', self.line_end.as_str()));
                }
            }
            done = raw_place(edit.to);
        }
        raw.push_str(&self.raw[done..]);
        Self::new(self.encoding, raw)
    }

    /// The bytes for the file. What the encoding cannot spell makes the whole file UTF-8.
    pub(crate) fn encode(&self) -> Cow<'_, [u8]> {
        let utf16 = |mark: [u8; 2], bytes_of: fn(u16) -> [u8; 2]| {
            mark.into_iter()
                .chain(self.raw.encode_utf16().flat_map(bytes_of))
                .collect::<Vec<u8>>()
                .into()
        };
        match self.encoding {
            Encoding::Utf8 => self.raw.as_bytes().into(),
            Encoding::Utf8WithMark => format!("\u{feff}{}", self.raw).into_bytes().into(),
            Encoding::Utf16Le => utf16([0xFF, 0xFE], u16::to_le_bytes),
            Encoding::Utf16Be => utf16([0xFE, 0xFF], u16::to_be_bytes),
            Encoding::Windows1252 => match WINDOWS_1252.encode(&self.raw) {
                (bytes, _, false) => bytes,
                (_, _, true) => self.raw.as_bytes().into(),
            },
        }
    }
}

fn decode(bytes: &[u8]) -> Option<(Encoding, String)> {
    if let Some(rest) = bytes.strip_prefix(b"\xEF\xBB\xBF") {
        return Some((Encoding::Utf8WithMark, String::from_utf8(rest.to_vec()).ok()?));
    }
    if let Some(rest) = bytes.strip_prefix(&[0xFF, 0xFE]) {
        return Some((Encoding::Utf16Le, utf16(rest, u16::from_le_bytes)?));
    }
    if let Some(rest) = bytes.strip_prefix(&[0xFE, 0xFF]) {
        return Some((Encoding::Utf16Be, utf16(rest, u16::from_be_bytes)?));
    }
    if bytes.contains(&0) {
        return None;
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some((Encoding::Utf8, text.to_owned()));
    }
    // Backspace to carriage return and escape occur in texts; other control characters do not.
    let is_text = |byte: &u8| matches!(byte, 0x08..=0x0D | 0x1B | 0x20..=0x7E | 0x80..);
    bytes.iter().all(is_text).then(|| {
        (
            Encoding::Windows1252,
            WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
        )
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16(&units).ok().filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(bytes: &[u8]) -> Vec<u8> {
        Text::decode(bytes).unwrap().encode().into_owned()
    }

    #[test]
    fn every_encoding_comes_back_as_it_was() {
        let utf16 = |mark: [u8; 2], bytes_of: fn(u16) -> [u8; 2]| -> Vec<u8> {
            mark.into_iter()
                .chain("häß🚀\r\n".encode_utf16().flat_map(bytes_of))
                .collect()
        };
        let all_bytes: Vec<u8> = (0x80..=0xFF).chain(*b" text\n").collect();
        for bytes in [
            b"plain\n".to_vec(),
            "h\u{e4}\u{df}\n".into(),
            b"\xEF\xBB\xBFmark\r\n".to_vec(),
            utf16([0xFF, 0xFE], u16::to_le_bytes),
            utf16([0xFE, 0xFF], u16::to_be_bytes),
            b"caf\xE9 \x80\n".to_vec(),
            all_bytes,
        ] {
            assert_eq!(round_trip(&bytes), bytes);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_binary() {
        for bytes in [
            b"a\0b".as_slice(),
            b"\xFF\x01\x02",
            b"\xFF\xFEa",
            b"\xEF\xBB\xBF\xFF",
        ] {
            assert!(Text::decode(bytes).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn edits_leave_other_line_ends_alone() {
        let check = |file: &str, old: &str, new: &str, expected: &str| {
            let text = Text::decode(file.as_bytes()).unwrap();
            let at = text.plain().find(old).unwrap();
            let edited = text.replaced(at, at + old.len(), new);
            assert_eq!(
                String::from_utf8(edited.encode().into_owned()).unwrap(),
                expected,
                "{file:?}"
            );
        };
        check(
            "one\r\ntwo\r\nthree\r\n",
            "two",
            "2\n2",
            "one\r\n2\r\n2\r\nthree\r\n",
        );
        check("one\r\ntwo\r\nthree\n", "two\nthree", "x", "one\r\nx\n");
        check(
            "one\ntwo\r\nthree\nfour\n",
            "three",
            "3\n3",
            "one\ntwo\r\n3\n3\nfour\n",
        );
        check("one\rtwo\r", "one\n", "1\n1\n", "1\r1\rtwo\r");
        check("one\r\ntwo\r\n", "\n", " ", "one two\r\n");
    }

    #[test]
    fn what_an_encoding_cannot_spell_makes_the_file_utf_8() {
        let text = Text::decode(b"caf\xE9\n").unwrap();
        assert_eq!(text.replaced(0, 1, "🚀").encode(), "🚀afé\n".as_bytes());
    }
}
