//! Makes of an output what a reader of it needs: the text, without what is meant for a terminal.
//!
//! People who watch live get every escape sequence; a model pays for each character and could be told things by
//! those that nobody sees.

/// How long the text inside of a sequence (a title, a link, a picture) may be; a longer one counts as text, so
/// that one that never ends does not take all the rest with it.
const ENCLOSED_LIMIT: usize = 64 * 1024;

/// The text without escape sequences and invisible characters, lines as they stand after all that was written
/// over them by carriage returns and backspaces. Doing it twice changes nothing, and it never grows.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut line = 0; // where the last line begins
    let (mut returned, mut back) = (false, 0); // how the cursor moved since the last character
    while let Some(next) = rest.chars().next() {
        rest = &rest[sequence_length(rest).unwrap_or(next.len_utf8())..];
        match next {
            '\n' => {
                plain.push_str(if returned { "\r\n" } else { "\n" });
                line = plain.len();
                (returned, back) = (false, 0);
            }
            '\r' => (returned, back) = (true, 0),
            '\u{8}' => back += 1,
            next if is_invisible(next) => {}
            next => {
                if returned {
                    plain.truncate(line);
                }
                for _ in 0..back {
                    if plain.len() > line {
                        plain.pop();
                    }
                }
                (returned, back) = (false, 0);
                plain.push(next);
            }
        }
    }
    plain
}

/// Whether a character shows nothing: controls, and those by which text is hidden or reordered. The joiners that
/// scripts and emoji need are not among them.
fn is_invisible(character: char) -> bool {
    (character.is_control() && character != '\t')
        || matches!(character,
            '\u{200b}' | '\u{2060}' | '\u{feff}'       // zero-width spaces
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // directions
            | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}') // tags, variations
}

/// The length of the escape sequence a text begins with.
fn sequence_length(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\x1b')?;
    let bytes = body.as_bytes();
    let run = |from: usize, range: std::ops::RangeInclusive<u8>| {
        from + bytes[from..]
            .iter()
            .take_while(|byte| range.contains(byte))
            .count()
    };
    let end = match bytes.first() {
        None => 0,
        Some(b'[') => {
            let end = run(run(1, 0x30..=0x3f), 0x20..=0x2f);
            end + usize::from(bytes.get(end).is_some_and(|last| (0x40..=0x7e).contains(last)))
        }
        Some(b']') => enclosed(bytes, true),
        Some(b'P' | b'X' | b'^' | b'_') => enclosed(bytes, false),
        Some(_) => {
            let end = run(0, 0x20..=0x2f);
            end + usize::from(bytes.get(end).is_some_and(|last| (0x30..=0x7e).contains(last)))
        }
    };
    Some(1 + end)
}

/// The length of a sequence that encloses a text, or of its beginning if it has no end. Only some end with a bell.
fn enclosed(bytes: &[u8], ends_with_bell: bool) -> usize {
    let near = &bytes[..bytes.len().min(ENCLOSED_LIMIT)];
    let bell = memchr::memchr(0x07, near)
        .filter(|_| ends_with_bell)
        .map(|at| at + 1);
    let terminator = memchr::memmem::find(near, b"\x1b\\").map(|at| at + 2);
    bell.into_iter().chain(terminator).min().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::{ROUNDS, Random};

    #[test]
    fn a_reader_gets_the_text_and_nothing_that_only_a_terminal_understands() {
        for (text, expected) in [
            ("a\x1b[1;31mred\x1b[0m\x1b[Kb", "aredb"),
            ("\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b]52;c;c3RvbGVu\x07kept", "kept"),
            ("A\x1b]11;?\x07B\x1b[6nC\x1bP$qm\x1b\\D\x1b", "ABCD"),
            ("\x1b(B\x1b=\x1b7text\x1b8\x1b", "text"),
            ("10%\r50%\r\x1b[K100%\ndone\r\n", "100%\ndone\r\n"),
            ("N\x08NA\x08A_\x08M", "NAM"),
            ("half\x08", "half"),
            ("\x1b]0;no end of it", "0;no end of it"),
            ("\x1b[31", ""),
            ("tab\tbell\x07nul\0", "tab\tbellnul"),
            (
                "a\u{202e}b\u{200b}c\u{e0041}d \u{1f468}\u{200d}\u{1f469}",
                "abcd \u{1f468}\u{200d}\u{1f469}",
            ),
            ("\x1b[31é\x1b[\n", "é\n"),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }

    #[test]
    fn no_input_grows_panics_or_needs_a_second_pass() {
        let fragments = [
            "\x1b",
            "[",
            "]",
            "P",
            "(",
            "31",
            ";",
            "m",
            "\x07",
            "\\",
            "\r",
            "\n",
            "\x08",
            "ä",
            "\u{9b}",
            "\u{e0041}",
            "text",
            "\x1b]0;",
            "\x1b[?25l",
            "\x1b\\",
            " ",
        ];
        let mut random = Random::new(1);
        for round in 0..ROUNDS {
            let bytes = random.text(&fragments);
            let text = String::from_utf8_lossy(&bytes);
            let once = plain(&text);
            assert!(once.len() <= text.len(), "round {round}: {text:?}");
            assert_eq!(plain(&once), once, "round {round}: {text:?}");
            assert!(!once.contains('\x1b'), "round {round}: {text:?}");
        }
    }
}
