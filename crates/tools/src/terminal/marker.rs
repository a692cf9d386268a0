//! Tells a command's output from what the shell says about itself.
//!
//! Both come through the same pseudo-terminal, so that the shell's word stands exactly behind the last byte of
//! the output. What the shell says is wrapped in `ESC ] 7770 ; … BEL` and carries a random token that the
//! command has never seen, so that no output is mistaken for it.

use memchr::memchr;

/// What a marker begins with.
const INTRODUCER: &[u8] = b"\x1b]7770;";
const TERMINATOR: u8 = 0x07;
/// Length of a token: 128 bits in hexadecimal.
const TOKEN_LENGTH: usize = 32;
/// How long a marker may be; its longest part is the `PATH` of the shell.
const MARKER_LIMIT: usize = 64 * 1024;

/// What came out of the terminal.
#[derive(Debug, PartialEq)]
pub(super) enum Item<'a> {
    Output(&'a [u8]),
    End(End),
    /// The shell waits for its next line after it began with the line of this number.
    Prompt {
        line: u64,
    },
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct End {
    pub(super) status: i64,
    /// The last job put in the background, or -1.
    pub(super) background: i64,
    /// The shell's search path.
    pub(super) path: String,
}

/// Splits the bytes of a terminal into output and markers, however they are cut into chunks.
pub(super) struct Scanner {
    /// Stands in prompts; the same for the life of a shell.
    prompt_token: String,
    /// Stands in the end marker of the running command; new for each.
    end_token: Option<String>,
    /// The beginning of what may become a marker.
    held: Vec<u8>,
}

impl Scanner {
    pub(super) fn new(prompt_token: String) -> Self {
        Self {
            prompt_token,
            end_token: None,
            held: Vec::new(),
        }
    }

    /// Names the token of the next end marker.
    pub(super) fn expect(&mut self, end_token: String) {
        self.end_token = Some(end_token);
    }

    /// Gives each part of a chunk, in order, to `take`.
    pub(super) fn feed(&mut self, chunk: &[u8], mut take: impl FnMut(Item<'_>)) {
        let mut joined = std::mem::take(&mut self.held);
        let mut rest = if joined.is_empty() {
            chunk
        } else {
            joined.extend_from_slice(chunk);
            &joined
        };
        let output = |bytes: &[u8], take: &mut dyn FnMut(Item<'_>)| {
            if !bytes.is_empty() {
                take(Item::Output(bytes));
            }
        };
        let mut searched = 0;
        while let Some(found) = memchr(INTRODUCER[0], &rest[searched..]) {
            let at = searched + found;
            match self.read_marker(&rest[at..]) {
                Reading::Text => searched = at + 1,
                Reading::Unfinished => {
                    output(&rest[..at], &mut take);
                    self.held = rest[at..].to_vec();
                    return;
                }
                Reading::Marker(item, length) => {
                    output(&rest[..at], &mut take);
                    if matches!(item, Item::End(_)) {
                        self.end_token = None;
                    }
                    take(item);
                    rest = &rest[at + length..];
                    searched = 0;
                }
            }
        }
        output(rest, &mut take);
    }

    /// Reads what begins with an escape character.
    fn read_marker(&self, text: &[u8]) -> Reading {
        let Some(body) = text.strip_prefix(INTRODUCER) else {
            return if INTRODUCER.starts_with(text) {
                Reading::Unfinished
            } else {
                Reading::Text
            };
        };
        let token = &body[..body.len().min(TOKEN_LENGTH)];
        let is_end = self
            .end_token
            .as_ref()
            .is_some_and(|end| end.as_bytes().starts_with(token));
        if !is_end && !self.prompt_token.as_bytes().starts_with(token) {
            return Reading::Text;
        }
        let Some(length) = memchr(TERMINATOR, body) else {
            return if body.len() < MARKER_LIMIT {
                Reading::Unfinished
            } else {
                Reading::Text
            };
        };
        let fields = String::from_utf8_lossy(&body[..length]);
        let mut fields = fields.splitn(4, ';').skip(1);
        let mut number = || fields.next().and_then(|field| field.parse::<i64>().ok());
        let item = if is_end {
            Item::End(End {
                status: number().unwrap_or(-1),
                background: number().unwrap_or(-1),
                path: fields.next().unwrap_or_default().to_owned(),
            })
        } else {
            Item::Prompt {
                line: number().map_or(0, i64::cast_unsigned),
            }
        };
        Reading::Marker(item, INTRODUCER.len() + length + 1)
    }
}

enum Reading {
    Text,
    Unfinished,
    Marker(Item<'static>, usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "0123456789abcdef0123456789abcdef";
    const END: &str = "fedcba9876543210fedcba9876543210";

    fn scan(text: &[u8], chunk: usize) -> (Vec<u8>, Vec<String>) {
        let mut scanner = Scanner::new(PROMPT.to_owned());
        scanner.expect(END.to_owned());
        let (mut output, mut markers) = (Vec::new(), Vec::new());
        for piece in text.chunks(chunk) {
            scanner.feed(piece, |item| match item {
                Item::Output(bytes) => output.extend_from_slice(bytes),
                other => markers.push(format!("{other:?}")),
            });
        }
        (output, markers)
    }

    #[test]
    fn markers_are_found_however_the_bytes_are_cut() {
        let text = format!(
            "one\x1b[31m\x1b]7770;x\x07two\x1b]7770;{END};3;;/bin:/usr/bin\x07three\x1b]7770;{PROMPT};12\x07four"
        );
        for chunk in 1..text.len() {
            let (output, markers) = scan(text.as_bytes(), chunk);
            assert_eq!(
                output, b"one\x1b[31m\x1b]7770;x\x07twothreefour",
                "in chunks of {chunk}"
            );
            assert_eq!(
                markers,
                [
                    r#"End(End { status: 3, background: -1, path: "/bin:/usr/bin" })"#,
                    "Prompt { line: 12 }"
                ],
                "in chunks of {chunk}"
            );
        }
    }

    #[test]
    fn a_token_is_good_for_one_end_only() {
        let text = format!("\x1b]7770;{END};0;;\x07\x1b]7770;{END};1;;\x07");
        let (output, markers) = scan(text.as_bytes(), text.len());
        assert_eq!(markers.len(), 1);
        assert_eq!(output, format!("\x1b]7770;{END};1;;\x07").as_bytes());
    }

    #[test]
    fn an_escaped_copy_of_a_marker_is_output() {
        let text = format!(r"printf '\033]7770;%s;%s\007' {END} {PROMPT}");
        let (output, markers) = scan(text.as_bytes(), 7);
        assert_eq!(output, text.as_bytes());
        assert!(markers.is_empty());
    }
}
