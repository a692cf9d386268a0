//! A part of a long text, and where to go on.

/// How many characters are shown at once.
pub(crate) const EXCERPT_CHARS: usize = 30_000;

/// How far back a paragraph's end, and a sentence's, is looked for, so that a part ends where the text pauses.
const PARAGRAPH_REACH: usize = 500;
const SENTENCE_REACH: usize = 200;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Characters of the whole.
    pub(crate) total: usize,
    /// Where the next part begins, if there is one.
    pub(crate) next: Option<usize>,
}

impl Excerpt {
    /// The part that begins at a character.
    pub(crate) fn of(text: &str, start: usize) -> Self {
        Self::at_most(text, start, EXCERPT_CHARS)
    }

    fn at_most(text: &str, start: usize, limit: usize) -> Self {
        let total = text.chars().count();
        let rest = text.char_indices().nth(start).map_or("", |(at, _)| &text[at..]);
        let Some((end, _)) = rest.char_indices().nth(limit) else {
            return Self {
                text: rest.to_owned(),
                total,
                next: None,
            };
        };
        let part = &rest[..end];
        let pause = |mark: &str, reach: usize| {
            let from = part.char_indices().rev().nth(reach).map_or(0, |(at, _)| at);
            part[from..].rfind(mark).map(|at| from + at + mark.len())
        };
        let end = pause("\n\n", PARAGRAPH_REACH)
            .or_else(|| pause(". ", SENTENCE_REACH))
            .filter(|end| *end > 0)
            .unwrap_or(end);
        let part = &part[..end];
        Self {
            text: part.to_owned(),
            total,
            next: Some(start + part.chars().count()),
        }
    }

    /// Says which part it is, if it is not all; `argument` names where the next start goes.
    pub(crate) fn note(&self, start: usize, argument: &str) -> Option<String> {
        let shown = self.text.chars().count();
        let total = self.total;
        match self.next {
            Some(next) => Some(format!(
                "[Characters {start} to {next} of {total}; go on with {argument}={next}.]"
            )),
            None if start > 0 => Some(format!(
                "[Characters {start} to {} of {total}: the end.]",
                start + shown
            )),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_put_together_are_the_whole() {
        let text = "Ää one. Two three.\n\nFour — five. Six ".repeat(40);
        let (mut whole, mut start) = (String::new(), 0);
        loop {
            let part = Excerpt::at_most(&text, start, 100);
            whole.push_str(&part.text);
            let Some(next) = part.next else { break };
            assert!(next > start);
            start = next;
        }
        assert_eq!(whole, text);
    }

    #[test]
    fn a_part_ends_with_a_paragraph_or_a_sentence() {
        let text = format!("{}\n\n{}", "a".repeat(80), "b".repeat(80));
        assert_eq!(Excerpt::at_most(&text, 0, 100).next, Some(82));
        let text = format!("{}. {}", "a".repeat(80), "b".repeat(80));
        assert_eq!(Excerpt::at_most(&text, 0, 100).next, Some(82));
        assert_eq!(Excerpt::at_most(&"a".repeat(300), 0, 100).next, Some(100));
        assert_eq!(Excerpt::at_most("short", 9, 100).text, "");
    }
}
