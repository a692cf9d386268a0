//! What `deft doctor` prints.

use super::line::one_line;
use super::style::Style;
use crate::doctor::{Check, State};

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
        one_line(&check.text)
    )
}
