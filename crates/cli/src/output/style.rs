//! The colours.

use anstyle::{AnsiColor, Style as Ansi};

/// How each part is shown. Colour never carries meaning alone: the words say it too.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    pub(super) plain: Ansi,
    pub(super) user: Ansi,
    pub(super) dim: Ansi,
    pub(super) heading: Ansi,
    pub(super) good: Ansi,
    pub(super) warning: Ansi,
    pub(super) error: Ansi,
    pub(super) added: Ansi,
    pub(super) removed: Ansi,
    pub(super) hunk: Ansi,
}

impl Style {
    /// With colours, from the sixteen that every terminal theme sets.
    pub(crate) fn coloured() -> Self {
        let colour = |colour: AnsiColor| colour.on_default();
        Self {
            plain: Ansi::new(),
            user: colour(AnsiColor::Cyan).bold(),
            dim: Ansi::new().dimmed(),
            heading: Ansi::new().bold(),
            good: colour(AnsiColor::Green).bold(),
            warning: colour(AnsiColor::Yellow),
            error: colour(AnsiColor::Red),
            added: colour(AnsiColor::Green),
            removed: colour(AnsiColor::Red),
            hunk: colour(AnsiColor::Cyan),
        }
    }
}
