//! A value as programs show bytes one by one: `od`, `xxd`, `hexdump`, fingerprints.

use std::fmt::Write;

/// Bytes of a value that are hidden wherever they stand together: dumps break their lines anywhere.
const TOGETHER: usize = 4;
/// Bytes that stand in one line beside their text.
const LINE: usize = 16;

/// The forms of a value in dumps of bytes and of words of two bytes, wherever in a line it begins; with the text beside it
/// only if it begins a line.
pub(super) fn forms_of(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for together in value.as_bytes().windows(TOGETHER) {
        let hex: Vec<String> = together.iter().map(|byte| format!("{byte:02x}")).collect();
        let [a, b, c, d] = hex.as_slice() else { continue };
        let colons = hex.join(":");
        forms.extend([
            hex.join(" "),
            colons.to_uppercase(),
            colons,
            format!("{a}{b} {c}{d}"),
            format!("{a} {b}{c} {d}"),
            format!("{b}{a} {d}{c}"), // as `hexdump` and `od -x` have them
        ]);
    }
    for line in value.as_bytes().chunks(LINE) {
        forms.extend(lines_of(line));
        if line.len() < LINE {
            forms.extend(lines_of(&[line, b"\n"].concat()));
        }
    }
    forms
}

/// A line of `xxd` and one of `hexdump -C` behind the place that they begin with.
fn lines_of(bytes: &[u8]) -> [String; 2] {
    let (mut words, mut halves) = (String::new(), String::new());
    for (at, byte) in bytes.iter().enumerate() {
        let between = if at > 0 && at % 2 == 0 { " " } else { "" };
        let _ = write!(words, "{between}{byte:02x}"); // a string takes everything
        let between = ["", " ", "  "][usize::from(at > 0) + usize::from(at == LINE / 2)];
        let _ = write!(halves, "{between}{byte:02x}");
    }
    let is_shown = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let shown = bytes
        .iter()
        .map(|byte| if is_shown(byte) { char::from(*byte) } else { '.' });
    let shown: String = shown.collect();
    [
        format!("{words:<39}  {shown}"),
        format!("{halves:<48}  |{shown}|"),
    ]
}
