//! What commands print that only print.

use super::{Word, name_of};

/// What `echo` and `printf` would print, if it is one of them.
pub(crate) fn printed(words: &[Word]) -> Option<Word> {
    let (verb, rest) = words.split_first()?;
    let rest = match name_of(&verb.text) {
        "echo" => {
            let options = rest
                .iter()
                .take_while(|word| matches!(word.text.as_str(), "-n" | "-e" | "-ne" | "-en" | "-E"));
            &rest[options.count()..]
        }
        "printf" => rest,
        _ => return None,
    };
    let mut text = join(rest);
    // The escapes that `printf` and `echo -e` know, well enough.
    if text.text.contains('\\') {
        text.text = unescaped(&text.text, None).0;
    }
    if name_of(&verb.text) == "printf"
        && let Some((format, values)) = rest.split_first()
        && format.text.contains('%')
    {
        // Good enough for a look: one value for each place, the others behind.
        for value in values {
            text.text = text.text.replacen("%s", &value.text, 1);
        }
    }
    Some(text)
}

pub(super) fn join(words: &[Word]) -> Word {
    Word {
        text: words
            .iter()
            .map(|word| word.text.as_str())
            .collect::<Vec<_>>()
            .join(" "),
        origin: words.iter().map(|word| word.origin).max().unwrap_or_default(),
        is_pattern: words.iter().any(|word| word.is_pattern),
    }
}

/// Resolves backslashes as in `$'…'`, up to `end`; with it, the rest behind that.
pub(super) fn unescaped(text: &str, end: Option<char>) -> (String, &str) {
    let mut plain = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        if Some(char) == end {
            return (plain, &text[at + char.len_utf8()..]);
        }
        if char != '\\' {
            plain.push(char);
            continue;
        }
        let Some((_, kind)) = chars.next() else { break };
        let (radix, most) = match kind {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 3),
            _ => (0, 0),
        };
        if radix == 0 {
            plain.push(match kind {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            });
            continue;
        }
        let mut digits = if radix == 8 {
            kind.to_string()
        } else {
            String::new()
        };
        while digits.len() < most
            && let Some((_, digit)) = chars.next_if(|(_, digit)| digit.is_digit(radix))
        {
            digits.push(digit);
        }
        let code = u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32);
        plain.extend(code);
    }
    (plain, "")
}
