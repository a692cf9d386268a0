//! Writes text with the marks of Markdown.

/// Deeper lists and quotations are written as if they were this deep, and deeper marks not at all: they must not
/// outweigh the text, nor cost more than it.
const MAX_DEPTH: usize = 8;

/// Markdown as it grows. What was written is never changed, but for marks that turned out to hold nothing.
#[derive(Default)]
pub(super) struct Writer {
    out: String,
    /// Line breaks that are due before the next text.
    breaks: usize,
    /// A space that is due before the next text.
    space: bool,
    /// Open lists, with the next number of those that count.
    lists: Vec<Option<u32>>,
    quotes: usize,
    preformatted: usize,
    /// Open marks of emphasis and the like, with where they begin.
    marks: Vec<(&'static str, usize)>,
    /// Where the last line begins.
    line: usize,
    /// Cells of the table row that is being written.
    cells: usize,
    rows: usize,
}

impl Writer {
    /// How much there is.
    pub(super) fn here(&self) -> usize {
        self.out.len()
    }

    /// The whole.
    pub(super) fn finish(mut self) -> String {
        if self.preformatted > 0 {
            self.out.push_str("\n```");
        }
        self.out
    }

    pub(super) fn start(&mut self, name: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.break_lines(2);
                let level = name
                    .as_bytes()
                    .get(1)
                    .map_or(1, |digit| usize::from(digit - b'0'));
                self.raw(&format!("{} ", "#".repeat(level)));
            }
            "ul" | "menu" => self.open_list(None),
            "li" => self.item(),
            "br" => self.breaks = (self.breaks + 1).min(2),
            "hr" => {
                self.break_lines(2);
                self.raw("---");
                self.break_lines(2);
            }
            "pre" => {
                self.break_lines(2);
                self.raw("```\n");
                self.preformatted += 1;
            }
            "blockquote" => {
                self.break_lines(2);
                self.quotes += 1;
            }
            "tr" => {
                self.break_lines(1);
                self.cells = 0;
            }
            "td" | "th" => {
                self.space = false;
                self.raw(if self.cells == 0 { "| " } else { " | " });
                self.cells += 1;
            }
            "table" => {
                self.break_lines(2);
                self.rows = 0;
            }
            _ => match (mark_of(name), distance(name)) {
                (Some(mark), _) if self.preformatted == 0 && self.marks.len() < MAX_DEPTH => {
                    let begin = self.open(mark);
                    self.marks.push((mark, begin));
                }
                (_, Some(lines)) => self.break_lines(lines),
                _ => {}
            },
        }
    }

    pub(super) fn end(&mut self, name: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "table" => self.break_lines(2),
            "ul" | "ol" | "menu" => {
                self.lists.pop();
                self.break_lines(if self.lists.is_empty() { 2 } else { 1 });
            }
            "pre" if self.preformatted > 0 => {
                self.preformatted -= 1;
                self.breaks = 0;
                let fence = if self.out.ends_with('\n') { "```" } else { "\n```" };
                self.out.push_str(fence);
                self.break_lines(2);
            }
            "blockquote" => {
                self.quotes = self.quotes.saturating_sub(1);
                self.break_lines(2);
            }
            "tr" if self.cells > 0 => {
                self.space = false;
                self.raw(" |");
                self.rows += 1;
                let cells = std::mem::take(&mut self.cells);
                self.break_lines(1);
                if self.rows == 1 {
                    self.raw(&format!("{}|", "| --- ".repeat(cells)));
                    self.break_lines(1);
                }
            }
            _ => match (mark_of(name), distance(name)) {
                (Some(mark), _) if self.preformatted == 0 => {
                    // Ends that do not match their beginnings close nothing.
                    if self.marks.last().is_some_and(|(open, _)| *open == mark)
                        && let Some((_, begin)) = self.marks.pop()
                    {
                        self.close(begin, mark, mark);
                    }
                }
                (_, Some(lines)) => self.break_lines(lines),
                _ => {}
            },
        }
    }

    pub(super) fn open_list(&mut self, first: Option<u32>) {
        self.break_lines(if self.lists.is_empty() { 2 } else { 1 });
        self.lists.push(first);
    }

    /// Text as it stands in the page: outside of preformatted parts all white space is one space.
    pub(super) fn text(&mut self, text: &str) {
        if self.preformatted > 0 {
            self.raw(text);
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.space = true;
        }
        for word in text.split_whitespace() {
            self.raw(word);
            self.space = true;
        }
        if !text.ends_with(char::is_whitespace) {
            self.space = false;
        }
    }

    /// Begins something that ends with [`Self::close`]; gives back where.
    pub(super) fn open(&mut self, mark: &str) -> usize {
        self.before_text();
        self.out.push_str(mark);
        self.out.len()
    }

    /// Ends what began there. Around nothing, and around more than a line, no marks are left.
    pub(super) fn close(&mut self, begin: usize, open: &str, close: &str) {
        let Some(inner) = self.out.get(begin..) else {
            return;
        };
        let useless = close.is_empty() || self.line > begin || inner.chars().all(char::is_whitespace);
        if !useless {
            self.out.push_str(close);
        } else if let Some(mark) = begin.checked_sub(open.len())
            && self.out.get(mark..begin) == Some(open)
            && self.marks.last().is_none_or(|(_, other)| *other <= mark)
        {
            self.out.replace_range(mark..begin, "");
        }
    }

    fn item(&mut self) {
        self.break_lines(1);
        let bullet = match self.lists.last_mut() {
            Some(Some(number)) => {
                let bullet = format!("{number}. ");
                *number = number.saturating_add(1);
                bullet
            }
            Some(None) | None => "- ".to_owned(),
        };
        self.raw(&bullet);
    }

    /// At least so many line breaks come before the next text.
    fn break_lines(&mut self, lines: usize) {
        if self.cells > 0 {
            self.space = true; // a table's row is one line
        } else if !self.out.is_empty() {
            self.breaks = self.breaks.max(lines);
        }
    }

    fn raw(&mut self, text: &str) {
        self.before_text();
        if let Some(at) = text.rfind('\n') {
            self.line = self.out.len() + at + 1;
        }
        self.out.push_str(text);
    }

    /// Writes what is due.
    fn before_text(&mut self) {
        if self.breaks > 0 || self.out.is_empty() {
            self.out.extend(std::iter::repeat_n('\n', self.breaks));
            self.line = self.out.len();
            let quotes = self.quotes.min(MAX_DEPTH);
            let depth = self.lists.len().saturating_sub(1).min(MAX_DEPTH);
            self.out.push_str(&"> ".repeat(quotes));
            self.out.push_str(&"  ".repeat(depth));
        } else if self.space && !self.out.ends_with(char::is_whitespace) {
            self.out.push(' ');
        }
        (self.breaks, self.space) = (0, false);
    }
}

fn mark_of(name: &str) -> Option<&'static str> {
    match name {
        "strong" | "b" => Some("**"),
        "em" | "i" => Some("*"),
        "code" | "kbd" | "samp" => Some("`"),
        "del" | "s" => Some("~~"),
        _ => None,
    }
}

/// How many line breaks stand around a block.
fn distance(name: &str) -> Option<usize> {
    match name {
        "p" | "section" | "article" | "header" | "main" | "form" | "fieldset" | "figure" | "details"
        | "dl" => Some(2),
        "div" | "dt" | "dd" | "figcaption" | "summary" | "address" | "option" | "caption" | "label"
        | "legend" | "button" | "tbody" | "thead" => Some(1),
        _ => None,
    }
}
