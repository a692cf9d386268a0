//! Text without what the eye does not see.

use std::borrow::Cow;

/// Drops characters that take no place on a screen or turn its order around, and folds full-width letters and
/// odd spaces into plain ones.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars()
            .filter(|char| !is_hidden(*char))
            .map(folded)
            .collect(),
    )
}

/// Whether a person who reads it sees less or other than what is there. The joiners and selectors that emoji and
/// some scripts are written with are not counted.
pub(crate) fn deceives(text: &str) -> bool {
    let is_joiner = |char: char| matches!(char, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
    let overwrites = text.replace("\r\n", "\n").contains('\r'); // what stood in the line before it
    overwrites || text.chars().any(|char| is_hidden(char) && !is_joiner(char))
}

fn is_plain(char: char) -> bool {
    matches!(char, ' '..='~' | '\n' | '\t')
}

fn is_hidden(char: char) -> bool {
    match char {
        '\n' | '\t' | '\r' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => char.is_control(),
    }
}

fn folded(char: char) -> char {
    match char {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(char) - 0xfee0).unwrap_or(char),
        _ if char.is_whitespace() && !matches!(char, '\n' | '\r' | '\t') => ' ',
        _ => char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_goes_and_what_looks_alike_becomes_plain() {
        assert_eq!(visible("r\u{200b}m\u{202e} -\u{0}rf\u{a0}/"), "rm -rf /");
        assert_eq!(visible("ｒｍ"), "rm");
        assert!(matches!(visible("echo ok\n"), Cow::Borrowed(_)));
        assert!(deceives("git push \u{202e}"));
        assert!(deceives("touch hidden #\recho hi"));
        assert!(!deceives("one\r\ntwo"));
        assert!(!deceives("echo 👩‍💻 ❤️ grün"));
    }
}
