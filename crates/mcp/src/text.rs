//! What servers write, made fit to be read: nothing hidden, nothing endless.

/// Without what a reader does not see but a model or a terminal does: control characters and escape sequences, marks
/// that turn the direction of text or have no width, and the invisible letters that smuggle instructions.
pub(crate) fn visible(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            // An escape sequence: all up to its final letter.
            '\x1b' | '\u{9b}' => {
                if c == '\x1b' && rest.next_if_eq(&'[').is_none() {
                    rest.next();
                    continue;
                }
                while rest.next().is_some_and(|c| !('\x40'..='\x7e').contains(&c)) {}
            }
            '\n' | '\t' => kept.push(c),
            c if c.is_control() || is_hidden(c) => {}
            c => kept.push(c),
        }
    }
    kept
}

fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e01ef}')
}

/// The beginning of a text, with a sign where it was cut.
pub(crate) fn beginning(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// The beginning and the end of a text, with a notice where the middle was, all within the limit.
pub(crate) fn without_middle(text: &str, limit: usize, notice: &str) -> String {
    let room = limit.saturating_sub(notice.chars().count());
    let (head, tail) = (room - room / 2, room / 2);
    let at = |index| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    let from = at(text.chars().count().saturating_sub(tail));
    format!("{}{notice}{}", &text[..at(head)], &text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_goes_and_what_can_be_read_stays() {
        for (written, seen) in [
            ("plain\n\ttext: grüße 日本 🙂", "plain\n\ttext: grüße 日本 🙂"),
            ("\x1b[31mred\x1b[0m and \x1b]0;title\x07", "red and 0;title"),
            ("a\u{200b}b\u{202e}c\u{feff}d", "abcd"),
            ("x\u{e0069}\u{e0067}\u{e006e}y", "xy"),
            ("bell\x07 null\0", "bell null"),
        ] {
            assert_eq!(visible(written), seen);
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters_and_say_so() {
        assert_eq!(beginning("grün", 4), "grün");
        assert_eq!(beginning("grüner", 4), "grü…");
        assert_eq!(without_middle("äöü0123456789xyz", 9, "[…]"), "äöü[…]xyz");
    }
}
