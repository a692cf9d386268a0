//! Where something is: files as the protocol names them, and positions in them.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A file's name on the wire.
pub(crate) fn uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}"); // a string takes everything
        }
    }
    uri
}

/// The file of a name on the wire.
pub(crate) fn path(uri: &str) -> Option<PathBuf> {
    let mut rest = uri.strip_prefix("file://")?.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| after.get(..2)).flatten();
        let escaped = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// Where a name stands in a text, as the protocol counts: lines from 0, columns in UTF-16. `line` counts from 1; without
/// one the first place in the text is taken.
pub(crate) fn position(text: &str, line: Option<u64>, name: &str) -> Option<Value> {
    let wanted = line.map(|line| usize::try_from(line).unwrap_or(usize::MAX));
    text.lines().enumerate().find_map(|(index, content)| {
        if wanted.is_some_and(|wanted| wanted != index + 1) {
            return None;
        }
        let start = whole_word(content, name)?;
        Some(json!({"line": index, "character": content[..start].encode_utf16().count()}))
    })
}

/// Where a name stands on its own; anywhere, if it is not even a name.
fn whole_word(line: &str, name: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).map(|(start, _)| start).find(|start| {
        let before = line[..*start].chars().next_back();
        let after = line[start + name.len()..].chars().next();
        !name.starts_with(is_part) || !(before.is_some_and(is_part) || after.is_some_and(is_part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_survive_the_wire() {
        for name in ["/a b/é#?.rs", "/100%/x", "/plain"] {
            assert_eq!(path(&uri(Path::new(name))), Some(PathBuf::from(name)));
        }
        assert_eq!(path("file:///c%3A/%zz%"), Some(PathBuf::from("/c:/%zz%")));
        assert_eq!(path("untitled:1"), None);
    }

    #[test]
    fn a_name_is_found_as_a_whole_word() {
        let text = "let fool = 1;\n𝄞 foo(foo)";
        for (line, name, expected) in [
            (None, "foo", Some(json!({"line": 1, "character": 3}))),
            (Some(1), "foo", None),
            (Some(1), "fool", Some(json!({"line": 0, "character": 4}))),
            (Some(9), "foo", None),
        ] {
            assert_eq!(position(text, line, name), expected, "{name} in line {line:?}");
        }
    }
}
