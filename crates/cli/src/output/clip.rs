//! Keeps output short: the first lines, the last ones, and how many are between.

use std::borrow::Cow;

/// The longest line of output that is printed, in characters.
pub(super) const MAX_LINE: usize = 400;

/// How many lines are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clip {
    head: usize,
    tail: usize,
    line: usize,
}

impl Clip {
    /// For what is said to or by a person.
    pub(super) const NONE: Self = Self {
        head: usize::MAX,
        tail: 0,
        line: usize::MAX,
    };
    /// For the output of commands, which tell the most at their end.
    pub(super) const OUTPUT: Self = Self {
        head: 8,
        tail: 12,
        line: MAX_LINE,
    };
    /// For the reasoning of a model.
    pub(super) const REASONING: Self = Self {
        head: 6,
        tail: 0,
        line: MAX_LINE,
    };
    /// For a new file.
    pub(super) const NEW_FILE: Self = Self {
        head: 10,
        tail: 0,
        line: MAX_LINE,
    };
    /// For a change of a file.
    pub(super) const DIFF: Self = Self {
        head: 60,
        tail: 0,
        line: MAX_LINE,
    };

    /// The lines to show, with a note in place of those that are left out.
    pub(super) fn apply(self, text: &str) -> Vec<Cow<'_, str>> {
        self.pick(
            text.lines().map(|line| shorten(line, self.line)).collect(),
            Cow::from,
        )
    }

    /// As [`Self::apply`], for lines of any kind. A note never stands for a single line.
    pub(super) fn pick<T>(self, mut lines: Vec<T>, note: impl FnOnce(String) -> T) -> Vec<T> {
        let shown = self.head.saturating_add(self.tail);
        let Some(omitted) = lines.len().checked_sub(shown).filter(|omitted| *omitted > 1) else {
            return lines;
        };
        lines.splice(
            self.head..self.head + omitted,
            [note(format!("… {omitted} more lines"))],
        );
        lines
    }
}

/// Cuts a line, between characters.
pub(super) fn shorten(line: &str, max: usize) -> Cow<'_, str> {
    match line.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &line[..end]).into(),
        None => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> String {
        (1..=count).map(|n| n.to_string()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_middle_of_a_long_text_is_counted_not_shown() {
        let clip = Clip {
            head: 2,
            tail: 1,
            line: MAX_LINE,
        };
        assert_eq!(clip.apply(&numbered(3)), ["1", "2", "3"]);
        assert_eq!(clip.apply(&numbered(4)), ["1", "2", "3", "4"]);
        assert_eq!(clip.apply(&numbered(9)), ["1", "2", "… 6 more lines", "9"]);
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(shorten("äöü", 2), "äö…");
        assert_eq!(shorten("äöü", 3), "äöü");
    }
}
