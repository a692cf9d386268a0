//! Keys by name.

/// What a key sends to a program, if the text names one: `C-c`, `Ctrl+D`, `UP`, `Enter` …
pub(super) fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let name = text.to_ascii_uppercase();
    if let Some(letter) = control_letter(&name) {
        return Some(vec![letter & 0x1f]);
    }
    let bytes: &[u8] = match name.as_str() {
        "ENTER" => b"\r",
        "TAB" => b"\t",
        "BS" => b"\x7f",
        "ESC" => b"\x1b",
        "UP" => b"\x1b[A",
        "DOWN" => b"\x1b[B",
        "RIGHT" => b"\x1b[C",
        "LEFT" => b"\x1b[D",
        "HOME" => b"\x1b[H",
        "END" => b"\x1b[F",
        "PGUP" => b"\x1b[5~",
        "PGDN" => b"\x1b[6~",
        _ => return None,
    };
    Some(bytes.to_vec())
}

/// Whether the text is a key that stops or ends a program. While one runs, no new command can be meant by it.
pub(super) fn is_stop_key(text: &str) -> bool {
    matches!(control_letter(text), Some(b'C' | b'D' | b'Z'))
}

/// The letter pressed together with the control key.
pub(super) fn control_letter(name: &str) -> Option<u8> {
    let name = name.to_ascii_uppercase();
    let letter = ["C-", "CTRL-", "CTRL+"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    match letter.as_bytes() {
        [letter] if letter.is_ascii_uppercase() => Some(*letter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_all_their_names() {
        for name in ["C-c", "c-C", "CTRL-c", "Ctrl+C"] {
            assert_eq!(bytes_of(name), Some(vec![3]), "{name}");
            assert!(is_stop_key(name), "{name}");
        }
        assert_eq!(bytes_of("up"), Some(b"\x1b[A".to_vec()));
        assert_eq!(bytes_of("C-cc"), None);
        assert_eq!(bytes_of("end it"), None);
        assert!(!is_stop_key("C-l"));
    }
}
