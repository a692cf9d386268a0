//! What a conversation is called, and what it is marked with.

use serde_json::{Map, Value};

use crate::command::{Command, CommandError};
use crate::conversation::Conversation;

/// The longest title, in characters.
const MAX_TITLE: usize = 200;

impl Conversation {
    /// Gives it another title, other tags in the place of all that it has, or both.
    pub async fn label(
        &self,
        title: Option<String>,
        tags: Option<Map<String, Value>>,
    ) -> Result<(), CommandError> {
        self.ask(|done| Command::Label { title, tags, done }).await?
    }
}

/// A title on one line, without what could not be seen; none where no word is left.
pub(crate) fn title(text: &str) -> Option<String> {
    let visible: String = text
        .chars()
        .map(|char| if char.is_whitespace() { ' ' } else { char })
        .filter(|char| !char.is_control())
        .collect();
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    let title: String = line.chars().take(MAX_TITLE).collect();
    title.chars().any(char::is_alphanumeric).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_visible_line_of_bounded_length_with_a_word_in_it() {
        assert_eq!(
            title("  Fix\n\tthe \u{1b}[31m bug "),
            Some("Fix the [31m bug".to_owned())
        );
        assert_eq!(title(" … \n"), None);
        assert_eq!(title(&"ä".repeat(500)).unwrap().chars().count(), MAX_TITLE);
    }
}
