//! Reads the text of a patch.

use super::problem::Problem;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

/// What a patch does to one file.
#[derive(Debug)]
pub(super) struct FilePatch {
    pub(super) path: String,
    pub(super) change: Change,
}

#[derive(Debug)]
pub(super) enum Change {
    Add(String),
    Delete,
    Update {
        move_to: Option<String>,
        hunks: Vec<Hunk>,
    },
}

/// A change in one place.
#[derive(Debug, Default)]
pub(super) struct Hunk {
    /// Lines above the place, each below the one before.
    pub(super) anchors: Vec<String>,
    pub(super) lines: Vec<Line>,
    pub(super) at_end: bool,
}

#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Keep(String),
    Remove(String),
    Add(String),
}

/// Reads a patch; nothing is looked up in files.
pub(super) fn parse(text: &str) -> Result<Vec<FilePatch>, Problem> {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default();
    if first.trim_end() != BEGIN {
        return Err(Problem::NoBegin);
    }
    // A patch with long line ends was written with them throughout.
    let text = if text.contains("*** Begin Patch\r\n") {
        text.replace("\r\n", "\n")
    } else {
        text.to_owned()
    };
    let lines: Vec<&str> = text.split('\n').collect();
    let Some((&last, sections)) = lines[1..].split_last() else {
        return Err(Problem::NoEnd);
    };
    if last.trim_end() != END {
        return Err(Problem::NoEnd);
    }
    let mut parser = Parser {
        lines: sections,
        next: 0,
    };
    let mut files = Vec::new();
    while let Some(line) = parser.peek() {
        if line.trim().is_empty() {
            parser.next += 1;
        } else {
            files.push(parser.file(line)?);
        }
    }
    if files.is_empty() {
        return Err(Problem::Empty);
    }
    Ok(files)
}

struct Parser<'a> {
    lines: &'a [&'a str],
    next: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.next).copied()
    }

    /// Takes the next line if it begins so, and gives the rest of it.
    fn take(&mut self, prefix: &str) -> Option<&'a str> {
        let rest = self.peek()?.strip_prefix(prefix)?;
        self.next += 1;
        Some(rest)
    }

    fn problem(&self, expected: &'static str) -> Problem {
        Problem::Line {
            number: self.next + 2, // the first line is the beginning of the patch
            line: self.peek().unwrap_or_default().to_owned(),
            expected,
        }
    }

    fn file(&mut self, line: &str) -> Result<FilePatch, Problem> {
        let (path, change) = if let Some(path) = self.take(ADD) {
            (path, Change::Add(self.added()?))
        } else if let Some(path) = self.take(DELETE) {
            (path, Change::Delete)
        } else if let Some(path) = self.take(UPDATE) {
            let move_to = self.take(MOVE).map(|path| path.trim().to_owned());
            let hunks = self.hunks()?;
            if hunks.is_empty() && move_to.is_none() {
                return Err(Problem::NoHunk(path.to_owned()));
            }
            (path, Change::Update { move_to, hunks })
        } else {
            return Err(self.problem(if line.starts_with('+') {
                "A blank line ends a new file: write + before it."
            } else {
                "A section begins with `*** Add File: `, `*** Delete File: ` or `*** Update File: `."
            }));
        };
        Ok(FilePatch {
            path: path.trim().to_owned(),
            change,
        })
    }

    /// The text of a new file.
    fn added(&mut self) -> Result<String, Problem> {
        let mut text = String::new();
        while let Some(line) = self.peek() {
            if line.starts_with("***") || line.is_empty() {
                break;
            }
            let Some(line) = self.take("+") else {
                return Err(self.problem("Each line of a new file begins with +."));
            };
            text.push_str(line);
            text.push('\n');
        }
        Ok(text)
    }

    fn hunks(&mut self) -> Result<Vec<Hunk>, Problem> {
        let mut hunks = Vec::new();
        while let Some(line) = self.peek() {
            if line.starts_with("***") {
                break;
            }
            if line.is_empty() && self.only_blanks_left() {
                self.next += 1;
            } else {
                hunks.push(self.hunk()?);
            }
        }
        Ok(hunks)
    }

    /// Whether nothing but blank lines stands before the next section.
    fn only_blanks_left(&self) -> bool {
        let text = self.lines[self.next..].iter().find(|line| !line.is_empty());
        text.is_none_or(|line| line.starts_with("***"))
    }

    fn hunk(&mut self) -> Result<Hunk, Problem> {
        let mut hunk = Hunk::default();
        while let Some(anchor) = self.take("@@") {
            let anchor = anchor.strip_prefix(' ').unwrap_or(anchor);
            // Line numbers, as other patches have them, are no line of the file.
            if !(anchor.trim().is_empty() || anchor.starts_with('-') && anchor.trim_end().ends_with("@@")) {
                hunk.anchors.push(anchor.to_owned());
            }
        }
        while let Some(line) = self.peek() {
            let of = |rest: &str| rest.to_owned();
            let read = match line.as_bytes().first() {
                None if self.only_blanks_left() => break,
                None => Line::Keep(String::new()),
                Some(b' ') => Line::Keep(of(&line[1..])),
                Some(b'-') => Line::Remove(of(&line[1..])),
                Some(b'+') => Line::Add(of(&line[1..])),
                Some(b'@') if line.starts_with("@@") => break,
                Some(b'*') if line.starts_with("***") => break,
                Some(_) => {
                    return Err(self.problem("A line of a hunk begins with a blank, - or +."));
                }
            };
            hunk.lines.push(read);
            self.next += 1;
        }
        if hunk.lines.is_empty() {
            return Err(self.problem("A hunk needs lines."));
        }
        hunk.at_end = self.take(END_OF_FILE).is_some();
        Ok(hunk)
    }
}
