//! Whether a word is said, and what is said behind it.

/// What stands behind `keyword` in `text`, if it stands there as a whole, in large or small letters.
pub(crate) fn behind<'t>(keyword: &str, text: &'t str) -> Option<&'t str> {
    let keyword = keyword.trim().to_lowercase();
    if keyword.is_empty() {
        return None;
    }
    let mut before = None;
    for (start, char) in text.char_indices() {
        if !before.is_some_and(char::is_alphanumeric)
            && let Some(rest) = without_beginning(&text[start..], &keyword)
            && !rest.starts_with(char::is_alphanumeric)
        {
            return Some(rest);
        }
        before = Some(char);
    }
    None
}

/// The text without its beginning, which is given in small letters.
fn without_beginning<'t>(text: &'t str, beginning: &str) -> Option<&'t str> {
    let mut wanted = beginning.chars().peekable();
    let mut chars = text.chars();
    while wanted.peek().is_some() {
        let small = chars.next()?.to_lowercase();
        for char in small {
            wanted.next_if_eq(&char)?;
        }
    }
    Some(chars.as_str())
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
            assert_eq!(behind(keyword, text).is_some(), expected, "{keyword} {text}");
        }
    }

    #[test]
    fn what_is_said_behind_a_word_is_the_rest_of_the_text() {
        assert_eq!(
            behind("/undo", "Please /UNDO the last\ncommit"),
            Some(" the last\ncommit")
        );
        assert_eq!(behind("git", "github, then git"), Some(""));
    }
}
