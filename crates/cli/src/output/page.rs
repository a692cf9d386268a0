//! A piece of output under construction.

use anstyle::Style as Ansi;

use super::clip::Clip;
use super::neutral::without_escapes;
use super::style::Style;

/// Lines, each with its style. Everything that comes in as text is neutralised here.
pub(super) struct Page<'a> {
    pub(super) style: &'a Style,
    text: String,
}

impl<'a> Page<'a> {
    pub(super) fn new(style: &'a Style) -> Self {
        Self {
            style,
            text: String::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// One line, or as many as the text has.
    pub(super) fn line(&mut self, style: Ansi, text: &str) {
        self.lines(style, "", text);
    }

    /// All lines of a text, each with something before it; none where there is only white space.
    pub(super) fn lines(&mut self, style: Ansi, prefix: &str, text: &str) {
        self.clipped(style, prefix, text, Clip::NONE);
    }

    /// As [`Self::lines`], but not more than a clip allows.
    pub(super) fn clipped(&mut self, style: Ansi, prefix: &str, text: &str, clip: Clip) {
        let text = without_escapes(text);
        for line in clip.apply(text.trim_end().trim_start_matches('\n')) {
            self.styled(style, &format!("{prefix}{line}"));
        }
    }

    /// One line that is neutral already.
    pub(super) fn styled(&mut self, style: Ansi, line: &str) {
        // Reset at each line's end, so that a pager or a broken pipe leaves no colour behind.
        let line = format!("{style}{}{style:#}\n", line.trim_end());
        self.text.push_str(&line);
    }

    /// Lines that are neutral already, not more than a clip allows.
    pub(super) fn styled_lines(&mut self, lines: Vec<(Ansi, String)>, clip: Clip) {
        let dim = self.style.dim;
        for (style, line) in clip.pick(lines, |note| (dim, note)) {
            self.styled(style, &line);
        }
    }
}
