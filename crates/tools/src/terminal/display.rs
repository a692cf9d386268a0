//! What a full-screen program shows.
//!
//! Such a program switches to the terminal's *alternate screen* and paints there; the bytes it does that with tell
//! nobody anything. So they go to an emulated screen, and an observation shows what is on it.

use std::num::NonZeroU16;
use std::panic::{AssertUnwindSafe, catch_unwind};

use memchr::memmem;
use vt100::Parser;

/// Lines and columns programs are told of.
pub(super) const WINDOW: (u16, u16) = (40, 120);
/// What the sequences that switch screens begin with.
const PRIVATE_MODE: &[u8] = b"\x1b[?";
/// The modes that stand for the alternate screen.
const ALTERNATE: [&[u8]; 3] = [b"1049", b"1047", b"47"];
/// How long the numbers in such a sequence may be.
const MODES_LIMIT: usize = 64;

/// The alternate screen, while a program uses it.
#[derive(Default)]
pub(super) struct Display {
    screen: Option<Box<Parser>>,
    /// The beginning of what may be a switch.
    held: Vec<u8>,
}

impl Display {
    /// Takes in output, and passes on what does not belong to the alternate screen.
    pub(super) fn feed(&mut self, bytes: &[u8], mut pass: impl FnMut(&[u8])) {
        let mut joined = std::mem::take(&mut self.held);
        let mut rest = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        loop {
            match find_switch(rest, if self.is_on() { b'l' } else { b'h' }) {
                Switch::None => return self.put(rest, &mut pass),
                Switch::Unfinished(at) => {
                    self.put(&rest[..at], &mut pass);
                    self.held = rest[at..].to_vec();
                    return;
                }
                Switch::Found(start, end) => {
                    self.put(&rest[..start], &mut pass);
                    self.screen = if self.is_on() { None } else { blank() };
                    rest = &rest[end..];
                }
            }
        }
    }

    /// Passes on what was held back: there is no more.
    pub(super) fn end(&mut self, mut pass: impl FnMut(&[u8])) {
        let held = std::mem::take(&mut self.held);
        self.put(&held, &mut pass);
    }

    /// Whether a program uses the alternate screen.
    pub(super) fn is_on(&self) -> bool {
        self.screen.is_some()
    }

    /// Whether arrow keys are to be sent in their other form.
    pub(super) fn has_application_keys(&self) -> bool {
        self.screen
            .as_ref()
            .is_some_and(|screen| screen.screen().application_cursor())
    }

    /// What is on the screen, for the model.
    pub(super) fn contents(&self) -> Option<String> {
        let screen = self.screen.as_ref()?.screen();
        let (line, column) = screen.cursor_position();
        Some(format!(
            "[The program fills the screen of {} lines and {} columns; the cursor is in line {}, column {}:]\n{}",
            WINDOW.0,
            WINDOW.1,
            line + 1,
            column + 1,
            screen.contents().trim_end(),
        ))
    }

    /// Forgets the screen of a program that has ended.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn put(&mut self, bytes: &[u8], pass: &mut impl FnMut(&[u8])) {
        match &mut self.screen {
            _ if bytes.is_empty() => {}
            None => pass(bytes),
            Some(screen) => {
                // The emulator is not ours, and any program can feed it anything.
                if catch_unwind(AssertUnwindSafe(|| screen.process(bytes))).is_err() {
                    tracing::error!("the emulated screen failed");
                    self.screen = blank();
                }
            }
        }
    }
}

fn blank() -> Option<Box<Parser>> {
    let (lines, columns) = (NonZeroU16::new(WINDOW.0)?, NonZeroU16::new(WINDOW.1)?);
    Some(Box::new(Parser::new(lines, columns, 0)))
}

enum Switch {
    None,
    /// It may begin here.
    Unfinished(usize),
    /// From here to there.
    Found(usize, usize),
}

/// Finds where the alternate screen is switched on (`h`) or off (`l`).
fn find_switch(bytes: &[u8], last: u8) -> Switch {
    for start in memmem::find_iter(bytes, PRIVATE_MODE) {
        let body = &bytes[start + PRIVATE_MODE.len()..];
        let length = body
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b';')
            .count();
        let mut modes = body[..length].split(|byte| *byte == b';');
        match body.get(length) {
            None if length < MODES_LIMIT => return Switch::Unfinished(start),
            Some(byte) if *byte == last && modes.any(|mode| ALTERNATE.contains(&mode)) => {
                return Switch::Found(start, start + PRIVATE_MODE.len() + length + 1);
            }
            None | Some(_) => {}
        }
    }
    let cut = (1..PRIVATE_MODE.len()).find(|length| bytes.ends_with(&PRIVATE_MODE[..*length]));
    cut.map_or(Switch::None, |length| Switch::Unfinished(bytes.len() - length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::{ROUNDS, Random};

    #[test]
    fn the_alternate_screen_is_kept_apart_however_the_bytes_are_cut() {
        let bytes =
            b"before\x1b[?25l\x1b[?1h\x1b[?1049h\x1b[2J\x1b[3;5Hmenu\x1b[?1;1049lafter\x1b[?47hagain\x1b[";
        for length in 1..bytes.len() {
            let (mut display, mut passed) = (Display::default(), Vec::new());
            for piece in bytes.chunks(length) {
                display.feed(piece, |text| passed.extend_from_slice(text));
            }
            display.end(|text| passed.extend_from_slice(text));
            assert_eq!(passed, b"before\x1b[?25l\x1b[?1hafter", "in pieces of {length}");
            assert!(
                display.contents().is_some_and(|text| text.ends_with("\nagain")),
                "in pieces of {length}"
            );
        }
    }

    #[test]
    fn no_bytes_break_the_screen() {
        let fragments = [
            "\x1b[",
            "\x1b[?",
            "1049h",
            "1049l",
            "\x1b[?1049h",
            "\x1b[9999;9999H",
            "\x1b[0;0r",
            "\x1b[5;2r",
            "\x1b[99L",
            "\x1b[99M",
            "\x1b[99@",
            "\x1b[99P",
            "\x1b[99S",
            "\x1b[99T",
            "\x1bM",
            "\x1b7",
            "\x1b8",
            "\x1bc",
            "\t",
            "\r\n",
            "漢",
            "e\u{301}",
            "text",
            "\x1b[K",
            "\x1b[1J",
            "\x08",
            "\x1b[120G漢",
        ];
        let mut random = Random::new(3);
        for _ in 0..ROUNDS / 10 {
            let bytes = random.text(&fragments);
            let mut display = Display {
                screen: blank(),
                held: Vec::new(),
            };
            for piece in random.cut(&bytes) {
                display.feed(piece, |_| {});
            }
            if let Some(contents) = display.contents() {
                assert!(contents.lines().count() <= usize::from(WINDOW.0) + 1, "{bytes:?}");
            }
        }
    }
}
