//! Which files to leave out.

use std::path::Path;

/// Whether a pattern names a path: its last name, or all of it if the pattern has a `/`.
pub(super) fn names(pattern: &str, path: &Path) -> bool {
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    let text = if pattern.contains('/') {
        Some(path.as_os_str())
    } else {
        path.file_name()
    };
    let pattern = pattern.trim_start_matches('/');
    text.is_some_and(|text| fits(pattern.as_bytes(), text.as_encoded_bytes()))
}

/// Whether one of the patterns names a path, or a directory that it is in.
pub fn is_left_out(path: &Path, patterns: &[String]) -> bool {
    let above = path.ancestors().filter(|above| !above.as_os_str().is_empty());
    let mut places = above.flat_map(|above| patterns.iter().map(move |pattern| (pattern, above)));
    places.any(|(pattern, above)| names(pattern, above))
}

/// `*` stands for any bytes but `/`. Takes time in proportion to the product of the lengths at most.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut in_text) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_text < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, in_text));
            at += 1;
        } else if pattern.get(at) == text.get(in_text) {
            at += 1;
            in_text += 1;
        } else if let Some((star_at, began)) = star.filter(|(_, began)| text[*began] != b'/') {
            star = Some((star_at, began + 1));
            (at, in_text) = (star_at + 1, began + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_files_anywhere_and_paths_from_the_top() {
        for (pattern, path, expected) in [
            ("node_modules", "a/node_modules", true),
            ("node_modules", "a/node_modules2", false),
            ("target/", "target", true),
            ("*.pyc", "a/b/c.pyc", true),
            ("*.pyc", "a.pyc/b", false),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcdef", false),
            ("/build", "build", true),
            ("/build", "a/build", false),
            ("docs/*.md", "docs/a.md", true),
            ("docs/*.md", "docs/a/b.md", false),
            ("*", "anything", true),
        ] {
            assert_eq!(names(pattern, Path::new(path)), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn what_is_in_a_directory_that_is_left_out_is_left_out() {
        let patterns = ["target/".to_owned(), "*.log".to_owned(), "a/b".to_owned()];
        for (path, expected) in [
            ("x/target/debug/y", true),
            ("x/y.log", true),
            ("a/b/c", true),
            ("c/a/b", false),
            ("targets/x", false),
        ] {
            assert_eq!(is_left_out(Path::new(path), &patterns), expected, "{path}");
        }
    }
}
