//! Where quotes, brackets and braces end.

use super::word::MAX_ALTERNATIVES;

pub(super) fn end_of_double(text: &str) -> usize {
    let mut at = 0;
    while let Some(char) = text[at..].chars().next() {
        match char {
            '"' => return at,
            '\\' => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            '$' if text[at + 1..].starts_with('(') => at += 1 + closing(&text[at + 1..], '(', ')') + 1,
            '`' => at += 1 + end_of_backticks(&text[at + 1..]) + 1,
            _ => at += char.len_utf8(),
        }
        if at >= text.len() {
            break;
        }
    }
    text.len()
}

pub(super) fn end_of_backticks(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != b'`' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// Where the bracket that `text` begins with is closed; the end, where it is not.
pub(super) fn closing(text: &str, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match (char, quote) {
            ('\'', Some('\'')) | ('"', Some('"')) => quote = None,
            (_, Some('\'')) => {}
            ('\\', _) => {
                chars.next();
            }
            ('\'' | '"', None) => quote = Some(char),
            (_, Some(_)) => {}
            _ if char == open => depth += 1,
            _ if char == close => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// `a{b,c}` as `ab` and `ac`.
pub(super) fn alternatives(raw: &str) -> Vec<String> {
    let mut found = vec![raw.to_owned()];
    let mut at = 0;
    while at < found.len() && found.len() < MAX_ALTERNATIVES {
        match braces(&found[at]) {
            Some(parts) => {
                found.splice(at..=at, parts);
            }
            None => at += 1,
        }
    }
    found
}

/// The first braces of a word that list alternatives, written out.
fn braces(raw: &str) -> Option<Vec<String>> {
    let mut quote = None;
    let mut open: Option<usize> = None;
    let mut commas: Vec<usize> = Vec::new();
    let mut before = ' ';
    for (at, char) in raw.char_indices() {
        match (char, quote) {
            _ if before == '\\' => {
                before = ' ';
                continue;
            }
            (_, Some(open)) if char == open => quote = None,
            ('\'' | '"' | '`', None) => quote = Some(char),
            ('{', None) if before != '$' => {
                open = Some(at);
                commas.clear();
            }
            ('(', None) if before == '$' => return None,
            (',', None) if open.is_some() => commas.push(at),
            ('}', None) => {
                if let Some(start) = open.take()
                    && !commas.is_empty()
                {
                    commas.push(at);
                    let mut from = start + 1;
                    let parts = commas.iter().take(MAX_ALTERNATIVES).map(|comma| {
                        let part = format!("{}{}{}", &raw[..start], &raw[from..*comma], &raw[at + 1..]);
                        from = comma + 1;
                        part
                    });
                    return Some(parts.collect());
                }
            }
            _ => {}
        }
        before = char;
    }
    None
}
