//! The lines of a file that match, and whether there is one.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use tokio_util::sync::CancellationToken;

use crate::file::numbered::clip_line;

/// How much memory a line may take; a file with a longer one is passed over.
const LINE_MEMORY: usize = 64 * 1024 * 1024;

/// Compiles a pattern as it is always meant: upper and lower case are the same, and it fits within a line.
pub(crate) fn matcher(pattern: &str) -> Result<RegexMatcher, grep_regex::Error> {
    RegexMatcherBuilder::new()
        .case_insensitive(true)
        .multi_line(true)
        .crlf(true)
        .build(pattern)
}

/// Which lines to show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// How many lines that match.
    pub(crate) matches: usize,
    /// How many lines around each.
    pub(crate) context: usize,
    /// How many characters in all.
    pub(crate) characters: usize,
}

/// Looks into files, one after the other.
pub(crate) struct Grep<'a> {
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    stop: &'a CancellationToken,
}

impl<'a> Grep<'a> {
    pub(crate) fn new(matcher: &'a RegexMatcher, context: usize, stop: &'a CancellationToken) -> Self {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LINE_MEMORY))
            .before_context(context)
            .after_context(context)
            .build();
        Self {
            matcher,
            searcher,
            stop,
        }
    }

    /// Whether a line of the file matches. What cannot be read does not.
    pub(crate) fn matches(&mut self, path: &Path) -> bool {
        let mut any = Any(false);
        self.search(path, &mut any).is_ok() && any.0
    }

    /// The lines that match, with their numbers.
    pub(crate) fn lines(&mut self, path: &Path, shown: Shown) -> String {
        let mut lines = Lines {
            shown,
            text: String::new(),
            matches: 0,
            full: false,
        };
        let read = self.search(path, &mut lines);
        if let Err(error) = read {
            lines.text = format!("  [It could not be read: {error}.]\n");
        } else if lines.full {
            lines.text.push_str("  [… more lines match …]\n");
        }
        lines.text
    }

    fn search(&mut self, path: &Path, sink: impl Sink<Error = io::Error>) -> io::Result<()> {
        let file = Stoppable {
            file: File::open(path)?,
            stop: self.stop,
        };
        self.searcher.search_reader(self.matcher, file, sink)
    }
}

/// A file that ends with an error when the search is stopped: the next match may be far away.
struct Stoppable<'a> {
    file: File,
    stop: &'a CancellationToken,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("the search was stopped"));
        }
        self.file.read(buffer)
    }
}

struct Any(bool);

impl Sink for &mut Any {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        self.0 = true;
        Ok(false)
    }
}

struct Lines {
    shown: Shown,
    text: String,
    matches: usize,
    full: bool,
}

impl Lines {
    /// Adds a line; `false` when there is no room.
    fn add(&mut self, number: Option<u64>, mark: char, line: &[u8]) -> bool {
        let line = String::from_utf8_lossy(line);
        let line = clip_line(line.trim_end_matches(['\r', '\n']));
        let line = format!("{:6}{mark} {line}\n", number.unwrap_or_default());
        self.full = self.text.len() + line.len() > self.shown.characters;
        if !self.full {
            self.text.push_str(&line);
        }
        !self.full
    }
}

impl Sink for &mut Lines {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.matches == self.shown.matches {
            self.full = true;
            return Ok(false);
        }
        self.matches += 1;
        Ok(self.add(found.line_number(), ':', found.bytes()))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        // The lines before a match that will not be shown are not shown either.
        let room =
            self.matches < self.shown.matches || context.kind() == &grep_searcher::SinkContextKind::After;
        Ok(!room || self.add(context.line_number(), '-', context.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.text.push_str("    --\n");
        Ok(true)
    }
}
