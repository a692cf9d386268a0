//! Makes text of models and commands harmless for a terminal.
//!
//! A control sequence can clear the screen, set the title, answer in the user's place or print over what was
//! there. Two ways, both of which leave no control character but line breaks and tabs:
//! [`without_escapes`] for output, where sequences are mostly colours and best dropped, and
//! [`with_visible_controls`] for what a person is to judge, such as a command line, where nothing may be
//! hidden.

/// Drops control sequences and control characters. A lone carriage return becomes a line break, so that it
/// cannot print over what stands before it.
pub(crate) fn without_escapes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        rest = &rest[char.len_utf8()..];
        match char {
            '\x1b' => rest = after_sequence(rest),
            '\r' if rest.starts_with('\n') => {}
            '\r' => clean.push('\n'),
            '\n' | '\t' => clean.push(char),
            _ if char.is_control() => {}
            _ if reorders(char) => clean.push(char::REPLACEMENT_CHARACTER),
            _ => clean.push(char),
        }
    }
    clean
}

/// Shows each control character as a picture of it: `␛` for escape.
pub(crate) fn with_visible_controls(text: &str) -> String {
    text.chars()
        .map(|char| match char {
            '\n' | '\t' => char,
            '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(char)).unwrap_or(char::REPLACEMENT_CHARACTER),
            '\x7f' => '␡',
            _ if char.is_control() || reorders(char) => char::REPLACEMENT_CHARACTER,
            _ => char,
        })
        .collect()
}

/// What follows the sequence that an escape character begins. A sequence that does not end, or is none, hides
/// nothing.
fn after_sequence(rest: &str) -> &str {
    let parameter = |char| matches!(char, '0'..='?');
    let intermediate = |char| matches!(char, ' '..='/');
    if let Some(rest) = rest.strip_prefix('[') {
        let rest = rest
            .trim_start_matches(parameter)
            .trim_start_matches(intermediate);
        return rest
            .strip_prefix(|char| matches!(char, '@'..='~'))
            .unwrap_or(rest);
    }
    // Titles, links, clipboard access and the like run up to a terminator.
    if let Some(rest) = rest.strip_prefix([']', 'P', 'X', '^', '_']) {
        let ends = ["\x07", "\x1b\\", "\u{9c}"]
            .into_iter()
            .filter_map(|end| Some(rest.find(end)? + end.len()));
        return ends.min().map_or(rest, |end| &rest[end..]);
    }
    let rest = rest.trim_start_matches(intermediate);
    rest.strip_prefix(|char| matches!(char, '0'..='~'))
        .unwrap_or(rest)
}

/// Characters that make a line read in another order than it is written in.
fn reorders(char: char) -> bool {
    matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_dropped_and_text_is_kept() {
        for (text, expected) in [
            ("plain ä 漢 🦀\n\ttab", "plain ä 漢 🦀\n\ttab"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x1b[2J\x1b[Hcleared", "cleared"),
            ("\x1b[?1049h\x1b[>4;2mmodes", "modes"),
            ("\x1b(B\x1b[mcharset", "charset"),
            ("\x1bcreset\x1b7", "reset"),
            ("\x1b]0;title\x07after", "after"),
            ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1bP1$r0m\x1b\\device", "device"),
            ("\u{9b}31mc1", "31mc1"),
            ("a\x08\x07\x00\x7fb", "ab"),
            ("one\r\ntwo\rthree", "one\ntwo\nthree"),
            ("a\u{202e}b", "a\u{fffd}b"),
        ] {
            assert_eq!(without_escapes(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_sequence_that_does_not_end_hides_nothing() {
        assert_eq!(without_escapes("\x1b]0;rm -rf /"), "0;rm -rf /");
        assert_eq!(without_escapes("\x1b[31\nnext"), "\nnext");
        assert_eq!(without_escapes("end\x1b"), "end");
    }

    #[test]
    fn no_mix_of_pieces_gets_a_control_character_through() {
        let pieces = [
            "\x1b", "[", "]", "0", ";", "m", "\x07", "\\", "\u{9b}", "\u{9c}", "\r", "P", "é",
        ];
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    for d in pieces {
                        let text = [a, b, c, d].concat();
                        for clean in [without_escapes(&text), with_visible_controls(&text)] {
                            let left = clean.chars().find(|char| char.is_control() && *char != '\n');
                            assert_eq!(left, None, "{text:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn controls_can_be_made_visible() {
        assert_eq!(
            with_visible_controls("ls\x1b[8m; rm x\r\x7f\n"),
            "ls␛[8m; rm x␍␡\n"
        );
        assert_eq!(with_visible_controls("a\u{202e}b\u{9b}c"), "a\u{fffd}b\u{fffd}c");
    }
}
