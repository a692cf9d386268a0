//! Whether a word is said.

/// Whether `keyword` stands in `text` as a whole, in large or small letters.
pub(crate) fn is_said(keyword: &str, text: &str) -> bool {
    let (keyword, text) = (keyword.trim().to_lowercase(), text.to_lowercase());
    if keyword.is_empty() {
        return false;
    }
    let mut from = 0;
    while let Some(found) = text[from..].find(&keyword) {
        let (start, end) = (from + found, from + found + keyword.len());
        let before = text[..start].chars().next_back();
        let after = text[end..].chars().next();
        if ![before, after].into_iter().flatten().any(char::is_alphanumeric) {
            return true;
        }
        from = start + text[start..].chars().next().map_or(1, char::len_utf8);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_said_only_as_a_whole() {
        for (expected, keyword, text) in [
            (true, "git", "use Git, please"),
            (false, "git", "on github"),
            (true, "git", "github and git"),
            (true, "git", "my_git_repo"),
            (true, "/linear", "run /linear now"),
            (true, "pull request", "the PULL REQUEST"),
            (true, "grün", "GRÜN!"),
            (false, "", "anything"),
        ] {
            assert_eq!(is_said(keyword, text), expected, "{keyword} {text}");
        }
    }
}
