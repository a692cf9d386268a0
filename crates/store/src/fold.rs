//! What the index says of a conversation, folded from its events.

use deft_types::{Event, EventBody, Money, Source, Stats, Status};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The longest title, in characters.
pub const TITLE_CHARS: usize = 80;

/// What some events change in the index; what they do not change is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derived {
    /// The beginning of the first of the user's messages: the title until it is given another.
    pub title: Option<String>,
    /// The last title that it was given.
    pub given_title: Option<String>,
    /// The last tags.
    pub tags: Option<Map<String, Value>>,
    /// The last status.
    pub status: Option<Status>,
    /// The last total.
    pub cost: Option<Money>,
    /// What of it no other conversation has spent.
    pub own_cost: Option<Money>,
}

impl Derived {
    /// Takes in the next event.
    pub fn fold(&mut self, event: &Event) {
        match &event.body {
            EventBody::Message(message) if event.source == Source::User && self.title.is_none() => {
                self.title = title(&message.llm_message.plain_text());
            }
            EventBody::StateUpdate(update) => match update.key.as_str() {
                "execution_status" => {
                    self.status = Status::deserialize(&update.value).ok().or(self.status);
                }
                "title" => {
                    let given = update.value.as_str().map(str::to_owned);
                    self.given_title = given.or(self.given_title.take());
                }
                "tags" => self.tags = update.value.as_object().cloned().or(self.tags.take()),
                "stats" => {
                    if let Ok(stats) = Stats::deserialize(&update.value) {
                        self.cost = Some(stats.total_cost());
                        self.own_cost = Some(stats.own_cost());
                    }
                }
                _ => {}
            },
            // The index is about nothing else.
            _ => {}
        }
    }
}

/// The text on one line, cut to the length of a title; none where nothing is left.
fn title(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TITLE_CHARS {
        return Some(line).filter(|line| !line.is_empty());
    }
    let start: String = line.chars().take(TITLE_CHARS - 1).collect();
    Some(start + "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_of_at_most_eighty_characters() {
        assert_eq!(title("  Fix\n\tthe  bug "), Some("Fix the bug".to_owned()));
        assert_eq!(title(" \n "), None);
        let long = title(&"ä ".repeat(100)).unwrap();
        assert_eq!(long.chars().count(), TITLE_CHARS);
        assert!(long.ends_with('…'));
    }
}
