//! Where two JSON values differ first.

use std::fmt;

use serde_json::Value;

/// How much of each value is shown.
const MAX_SHOWN_CHARS: usize = 80;

/// How much of it may be what both have in common.
const MAX_COMMON_CHARS: usize = 20;

/// The first place where two values differ.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    /// JSON pointer.
    pointer: String,
    recorded: String,
    asked: String,
}

impl Difference {
    /// The first difference of two values that differ.
    pub(super) fn between(recorded: &Value, asked: &Value) -> Self {
        let mut pointer = String::new();
        let (recorded, asked) = descend(Some(recorded), Some(asked), &mut pointer);
        let (recorded, asked) = (text(recorded), text(asked));
        let common = recorded
            .chars()
            .zip(asked.chars())
            .take_while(|(one, other)| one == other)
            .count();
        let start = common.saturating_sub(MAX_COMMON_CHARS);
        Self {
            pointer,
            recorded: window(&recorded, start),
            asked: window(&asked, start),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pointer,
            recorded,
            asked,
        } = self;
        write!(f, "at `{pointer}`: recorded was {recorded}, asked is {asked}")
    }
}

/// The two innermost values that differ, and the way to them.
fn descend<'a>(
    recorded: Option<&'a Value>,
    asked: Option<&'a Value>,
    pointer: &mut String,
) -> (Option<&'a Value>, Option<&'a Value>) {
    let (step, recorded_part, asked_part) = match (recorded, asked) {
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            let Some(index) =
                (0..one.len().max(other.len())).find(|index| one.get(*index) != other.get(*index))
            else {
                return (recorded, asked);
            };
            (index.to_string(), one.get(index), other.get(index))
        }
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let Some(key) = one
                .keys()
                .chain(other.keys())
                .find(|key| one.get(*key) != other.get(*key))
            else {
                return (recorded, asked);
            };
            (
                key.replace('~', "~0").replace('/', "~1"),
                one.get(key),
                other.get(key),
            )
        }
        _ => return (recorded, asked),
    };
    pointer.push('/');
    pointer.push_str(&step);
    descend(recorded_part, asked_part, pointer)
}

fn text(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

fn window(text: &str, start: usize) -> String {
    let mut shown: String = text.chars().skip(start).take(MAX_SHOWN_CHARS).collect();
    if start > 0 {
        shown.insert(0, '…');
    }
    if text.chars().count() > start + MAX_SHOWN_CHARS {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(recorded: &Value, asked: &Value, expected: &str) {
        assert_eq!(Difference::between(recorded, asked).to_string(), expected);
    }

    #[test]
    fn the_first_difference_is_found_and_shown() {
        check(&json!(1), &json!(2), "at ``: recorded was 1, asked is 2");
        check(
            &json!({ "a": [1, { "b": 2 }], "z": 1 }),
            &json!({ "a": [1, { "b": 3 }], "z": 2 }),
            "at `/a/1/b`: recorded was 2, asked is 3",
        );
        check(
            &json!([1]),
            &json!([1, "x"]),
            "at `/1`: recorded was nothing, asked is \"x\"",
        );
        check(
            &json!({ "a/b~c": 1 }),
            &json!({}),
            "at `/a~1b~0c`: recorded was 1, asked is nothing",
        );
        check(
            &json!({ "a": 1 }),
            &json!([1]),
            "at ``: recorded was {\"a\":1}, asked is [1]",
        );
    }

    #[test]
    fn of_long_texts_the_part_that_differs_is_shown() {
        let (one, other) = (
            format!("{}one", "ż".repeat(500)),
            format!("{}two{}", "ż".repeat(500), "x".repeat(500)),
        );
        let shown = Difference::between(&json!(one), &json!(other)).to_string();
        assert!(
            shown.contains("…żż") && shown.contains("żone\"") && shown.contains("żtwox"),
            "{shown}"
        );
        assert!(shown.chars().count() < 300, "{shown}");
    }
}
