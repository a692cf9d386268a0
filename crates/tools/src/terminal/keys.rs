//! Keys by name.

/// How a program wants to be typed to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keyboard {
    /// It reads key by key: text is sent as it is, without Enter.
    pub(super) full_screen: bool,
    /// It asked for the other form of the arrow keys.
    pub(super) application_keys: bool,
}

impl Keyboard {
    /// What to send for an input: a key, if the whole of it names one, or text.
    pub(super) fn bytes_of(self, input: &str) -> Vec<u8> {
        if let Some(key) = self.key(input.trim()) {
            return key;
        }
        if self.full_screen {
            return input.replace('\n', "\r").into_bytes();
        }
        let line = input.strip_suffix('\n').unwrap_or(input);
        format!("{line}\r").into_bytes()
    }

    /// What a key sends, if the text names one: `C-c`, `Ctrl+D`, `UP`, `Enter` …
    fn key(self, text: &str) -> Option<Vec<u8>> {
        let name = text.to_ascii_uppercase();
        if let Some(letter) = control_letter(&name) {
            return Some(vec![letter & 0x1f]);
        }
        let arrow = |last: char| {
            if self.application_keys {
                format!("\x1bO{last}")
            } else {
                format!("\x1b[{last}")
            }
        };
        let sent = match name.as_str() {
            "ENTER" => "\r".to_owned(),
            "TAB" => "\t".to_owned(),
            "BS" => "\x7f".to_owned(),
            "ESC" => "\x1b".to_owned(),
            "UP" => arrow('A'),
            "DOWN" => arrow('B'),
            "RIGHT" => arrow('C'),
            "LEFT" => arrow('D'),
            "HOME" => arrow('H'),
            "END" => arrow('F'),
            "PGUP" => "\x1b[5~".to_owned(),
            "PGDN" => "\x1b[6~".to_owned(),
            _ => return None,
        };
        Some(sent.into_bytes())
    }
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
        let keyboard = Keyboard::default();
        for name in ["C-c", "c-C", "CTRL-c", "Ctrl+C"] {
            assert_eq!(keyboard.bytes_of(name), [3], "{name}");
            assert!(is_stop_key(name), "{name}");
        }
        assert_eq!(keyboard.bytes_of("up"), b"\x1b[A");
        for text in ["C-cc", "end it"] {
            assert_eq!(keyboard.bytes_of(text), format!("{text}\r").as_bytes());
        }
        assert!(!is_stop_key("C-l"));
    }

    #[test]
    fn a_full_screen_program_gets_no_enter_and_the_arrows_it_wants() {
        let keyboard = Keyboard {
            full_screen: true,
            application_keys: true,
        };
        assert_eq!(keyboard.bytes_of("ihello"), b"ihello");
        assert_eq!(keyboard.bytes_of(":q!\n"), b":q!\r");
        assert_eq!(keyboard.bytes_of("DOWN"), b"\x1bOB");
    }
}
