//! What `deft doctor` prints.

use super::line::one_line_of;
use super::style::Style;
use crate::doctor::{Check, State};

/// Characters of a finding: what to do stands at its end, behind addresses and words of other programs.
const MAX_CHARS: usize = 2000;

/// A line for one thing that was looked at.
pub(crate) fn check_line(check: &Check, style: &Style) -> String {
    let (mark, colour) = match check.state {
        State::Good => ("✔", style.good),
        State::Missing => ("!", style.warning),
        State::Bad => ("✘", style.error),
    };
    format!(
        "{colour}{mark}{colour:#} {:<11} {}\n",
        check.name,
        one_line_of(&check.text, MAX_CHARS)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_is_shown_behind_a_long_reason() {
        let check = Check {
            name: "workspace",
            state: State::Bad,
            text: format!("{}\n\u{1b}[2J; start it", "reason ".repeat(100)),
        };
        let line = check_line(&check, &Style::default());
        assert!(line.ends_with("start it\n"), "{line}");
        assert!(!line.contains('\u{1b}'), "{line}");
    }
}
