//! Patterns of paths, as in `.gitignore`.

use regex::Regex;

/// Whether a pattern fits a path that is seen from the workspace. One without a slash fits at any depth.
pub(crate) fn fits(pattern: &str, path: &str) -> bool {
    let anchored = pattern.strip_prefix("./").unwrap_or(pattern);
    let mut expression = String::from("^");
    if !anchored.trim_end_matches('/').contains('/') {
        expression.push_str("(?:.*/)?");
    }
    let mut rest = anchored.strip_prefix('/').unwrap_or(anchored);
    while let Some(char) = rest.chars().next() {
        let (length, part) = match char {
            '*' if rest.starts_with("**/") => (3, "(?:.*/)?".to_owned()),
            '*' if rest.starts_with("**") => (2, ".*".to_owned()),
            '*' => (1, "[^/]*".to_owned()),
            '?' => (1, "[^/]".to_owned()),
            '/' if rest == "/" => (1, "/.*".to_owned()),
            _ => (char.len_utf8(), regex::escape(&rest[..char.len_utf8()])),
        };
        expression.push_str(&part);
        rest = &rest[length..];
    }
    expression.push('$');
    Regex::new(&expression).is_ok_and(|regex| regex.is_match(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_gitignore() {
        for (expected, pattern, path) in [
            (true, "*.rs", "src/a/main.rs"),
            (true, "main.rs", "src/main.rs"),
            (false, "main.rs", "src/domain.rs"),
            (true, "src/*.rs", "src/main.rs"),
            (false, "src/*.rs", "src/a/main.rs"),
            (true, "src/**", "src/a/main.rs"),
            (true, "src/**/*.rs", "src/main.rs"),
            (true, "**/test/**", "a/b/test/c.rs"),
            (true, "web/", "web/index.html"),
            (true, "a?.txt", "ab.txt"),
            (false, "a?.txt", "a/.txt"),
            (false, "*.RS", "main.rs"),
            (true, "/top.md", "top.md"),
            (false, "a.b", "axb"),
        ] {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
    }
}
