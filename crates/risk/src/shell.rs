//! From the text of a command to the programs it would start.
//!
//! `walk.rs` reads the tree that tree-sitter makes of the text, `flat.rs` is there for text that it does not
//! understand, `word.rs` makes words of arguments, `inner.rs` finds the commands that commands run, and `written.rs` those
//! in files that the script itself has written.

mod flat;
mod handed;
mod inner;
mod printed;
mod scan;
mod walk;
mod word;
mod written;

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, Parser};

pub(crate) use self::inner::{is_interpreter, is_shell, is_wrapper, name_of, obeys_arguments, runs_others};
pub(crate) use self::printed::printed;
use self::word::origin_of_output;
pub(crate) use self::word::{is_decoder, is_fetcher};
use self::written::Written;
use crate::place::{self, Site};

/// Text that is parsed at once. The rest of a longer one is parsed by itself.
const PIECE: usize = 64 * 1024;
/// Text that is parsed altogether, with what is nested in it.
const MAX_TEXT: usize = 512 * 1024;
/// Commands that are looked at.
const MAX_COMMANDS: usize = 8192;
/// Commands whose output one may read.
const MAX_INPUT: usize = 256;
/// Characters of one value of `IFS` that are looked at.
const MAX_SEPARATORS: usize = 32;
/// How deep constructs, substitutions and shells may stand in one another.
const MAX_NESTING: usize = 80;
/// Times that a script is read again, each time with what was found to be written into files.
const MAX_PASSES: usize = 3;
/// How long text is parsed. A text of everyday size takes milliseconds; there are some that take the parser for ever,
/// and those are read in the plain way alone.
const PATIENCE: Duration = Duration::from_secs(1);
/// What runs a command in the shell itself, and not in a process of its own.
const STAYING: &[&str] = &["eval", "source", ".", "builtin", "command"];

/// The programs that a text would start, and what could not be made out.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) commands: Vec<Simple>,
    /// Some of it is not understood.
    pub(crate) unclear: bool,
    /// Some of it was not looked at, or only in the plain way: too long, too deeply nested, too slow.
    pub(crate) unseen: bool,
    /// A function starts itself over and over.
    pub(crate) fork_bomb: bool,
    /// Where the shell stands behind it; none where that is not known.
    pub(crate) directory: Option<String>,
}

/// One program with its arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Simple {
    pub(crate) words: Vec<Word>,
    pub(crate) assignments: Vec<(String, Word)>,
    pub(crate) redirects: Vec<Redirect>,
    /// The commands whose output it reads, by their place in the script.
    pub(crate) input: Vec<usize>,
    /// Texts that it is given to read.
    pub(crate) fed: Vec<Word>,
    /// What stands in the file that it runs, where the script itself has written that.
    pub(crate) program: Vec<Word>,
    /// The directory it runs in; none where that is not known.
    pub(crate) directory: Option<String>,
    /// Run by another command of the script, such as `sudo`.
    pub(crate) is_inner: bool,
}

/// A file that is written to or read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) writes: bool,
    pub(crate) target: Word,
}

/// A word as the program would get it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The part that is known.
    pub(crate) text: String,
    pub(crate) origin: Origin,
    /// Whether it stands for the names of files.
    pub(crate) is_pattern: bool,
}

/// How much of a word is known, the worst last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// All.
    #[default]
    Written,
    /// Part of it is the value of a variable, or the output of a command, that is known.
    Computed,
    /// Part of it is known when it runs, and not before.
    Open,
    /// Part of it is deciphered when it runs.
    Decoded,
    /// Part of it comes from the network.
    Fetched,
}

impl Word {
    pub(crate) fn is_known(&self) -> bool {
        self.origin <= Origin::Computed
    }
}

impl Simple {
    /// The program without its directory; empty for a mere assignment.
    pub(crate) fn verb(&self) -> &str {
        self.words.first().map_or("", |word| name_of(&word.text))
    }
}

/// Reads a command line.
pub(crate) fn read<'a>(text: &str, site: impl Into<Site<'a>>) -> Script {
    let site = site.into();
    let mut reader = read_again(text, site);
    reader.script.directory = reader.directory;
    reader.script
}

fn read_again<'a>(text: &str, site: Site<'a>) -> Reader<'a> {
    let deadline = Instant::now() + PATIENCE;
    let mut reader = Reader::new(Vec::new(), site, deadline);
    reader.read(text);
    // What is written may have been run before, in a function or a loop; and what is run may write.
    for _ in 0..MAX_PASSES {
        if !reader.found_files() {
            return reader;
        }
        reader = Reader::new(reader.written, site, deadline);
        reader.read(text);
    }
    reader.script.unseen |= reader.found_files();
    reader
}

struct Reader<'a> {
    script: Script,
    variables: HashMap<String, Word>,
    /// All that was ever put into `IFS`, beside spaces: by these values may fall into words.
    separators: String,
    directory: Option<String>,
    /// Where `popd` leads to, one after the other.
    pushed: Vec<Option<String>>,
    workspace: &'a str,
    /// The commands whose output the text that is being read gets as its input.
    input: Vec<usize>,
    nesting: usize,
    text_left: usize,
    deadline: Instant,
    /// What goes into files, also by what an earlier reading found.
    written: Vec<Written>,
    /// How much of that was known before this reading.
    written_before: usize,
    /// Bytes of it that commands may still be given.
    feed_left: usize,
    /// The texts that are being read as programs, each in the one before it.
    reading: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(written: Vec<Written>, site: Site<'a>, deadline: Instant) -> Self {
        let Site { workspace, directory } = site;
        Self {
            script: Script::default(),
            variables: HashMap::from([
                ("HOME".to_owned(), Word::from(place::home(workspace))),
                ("PWD".to_owned(), Word::from(directory.to_owned())),
            ]),
            separators: String::new(),
            directory: Some(directory.to_owned()),
            pushed: Vec::new(),
            workspace,
            input: Vec::new(),
            nesting: 0,
            text_left: MAX_TEXT,
            deadline,
            written_before: written.len(),
            written,
            feed_left: MAX_TEXT,
            reading: Vec::new(),
        }
    }

    /// Whether this reading knows more of what is written than it began with.
    fn found_files(&self) -> bool {
        self.written.len() > self.written_before
    }

    /// Adds the commands of a text, and says which they are.
    fn read(&mut self, text: &str) -> Range<usize> {
        let start = self.script.commands.len();
        self.nested(|reader| {
            let mut rest = text;
            while !rest.is_empty() {
                let (piece, more) = rest.split_at(end_of_piece(rest));
                reader.script.unseen |= !more.is_empty();
                if piece.len() > reader.text_left {
                    reader.script.unseen = true;
                    return;
                }
                reader.text_left -= piece.len();
                reader.read_piece(piece);
                rest = more;
            }
        });
        start..self.script.commands.len()
    }

    /// Reads a text that gets the same input as the command that runs it.
    fn read_within(&mut self, text: &str, command: &Simple) {
        let outer = std::mem::replace(&mut self.input, command.input.clone());
        self.read(text);
        self.input = outer;
    }

    fn read_piece(&mut self, text: &str) {
        let mut parser = Parser::new();
        let language = tree_sitter_bash::LANGUAGE.into();
        if Instant::now() > self.deadline || parser.set_language(&language).is_err() {
            self.script.unseen = true;
            return self.read_flat(text);
        }
        let deadline = self.deadline;
        let mut watch = |_: &tree_sitter::ParseState| {
            if Instant::now() > deadline {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut watch);
        let mut source = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
        let Some(tree) = parser.parse_with_options(&mut source, None, Some(options)) else {
            self.script.unseen = true;
            return self.read_flat(text);
        };
        self.visit(tree.root_node(), text, &self.around_all());
        if tree.root_node().has_error() {
            self.script.unclear = true;
            self.read_flat(text);
        }
    }

    /// Adds a command, and what it runs.
    fn add(&mut self, mut command: Simple) {
        if self.script.commands.len() >= MAX_COMMANDS {
            self.script.unseen = true;
            return;
        }
        if command.input.len() > MAX_INPUT {
            self.script.unseen = true;
            command.input.truncate(MAX_INPUT);
        }
        command.directory.clone_from(&self.directory);
        self.feed_written(&mut command);
        self.remember_written(&command);
        self.script.commands.push(command.clone());
        let is_here = STAYING.contains(&command.verb());
        if is_here {
            self.nested(|reader| reader.add_inner(&command));
        } else {
            self.apart(|reader| reader.nested(|reader| reader.add_inner(&command)));
        }
        self.forget_read(&command);
        if let Some(split) = self.split_otherwise(&command) {
            self.add(split);
        }
        match command.verb() {
            "cd" => self.go(&command),
            "pushd" => {
                self.pushed.push(self.directory.clone());
                self.go(&command);
            }
            "popd" => self.directory = self.pushed.pop().flatten(),
            _ => {}
        }
    }

    fn go(&mut self, command: &Simple) {
        let is_operand = |word: &&Word| word.text == "-" || !word.text.starts_with(['-', '+']);
        let mut operands = command.words.iter().skip(1).filter(is_operand);
        self.directory = match (operands.next(), &command.directory) {
            (None, _) if command.verb() == "cd" => Some(place::home(self.workspace)),
            (Some(to), Some(from)) if to.is_known() && to.text != "-" => {
                Some(place::absolute(&to.text, from))
            }
            (Some(to), None) if to.is_known() && to.text.starts_with('/') => Some(to.text.clone()),
            _ => None,
        };
    }

    fn assign(&mut self, name: &str, value: Word) {
        if name == "IFS" {
            for char in value.text.chars().filter(|char| !char.is_whitespace()) {
                if self.separators.contains(char) {
                    continue;
                }
                if self.separators.len() >= MAX_SEPARATORS {
                    self.script.unseen = true;
                    break;
                }
                self.separators.push(char);
            }
        }
        self.variables.insert(name.to_owned(), value);
    }

    /// Variables that a command gives values which nobody knows before.
    fn forget_read(&mut self, command: &Simple) {
        let arguments = command.words.get(1..).unwrap_or_default();
        let names = match (command.verb(), arguments) {
            ("read" | "mapfile" | "readarray" | "getopts" | "unset", names) => names,
            ("printf", [option, name, ..]) if option.text == "-v" => std::slice::from_ref(name),
            _ => return,
        };
        let earlier = command
            .input
            .iter()
            .filter_map(|index| self.script.commands.get(*index));
        let origins = earlier.map(|earlier| origin_of_output(earlier.verb()));
        let origin = origins.max().unwrap_or(Origin::Open);
        for name in names {
            let value = self.variables.entry(name.text.clone()).or_default();
            value.origin = value.origin.max(origin);
        }
    }

    /// The command as it is where `IFS` says otherwise than we think what separates words. It may hold or not, so this
    /// one is judged beside the other.
    fn split_otherwise(&self, command: &Simple) -> Option<Simple> {
        let separates = |char: char| self.separators.contains(char);
        if !command.words.iter().any(|word| word.text.contains(separates)) {
            return None;
        }
        let parts = command.words.iter().flat_map(|word| {
            let parts = word.text.split(separates).filter(|part| !part.is_empty());
            parts.map(|part| Word {
                text: part.to_owned(),
                ..word.clone()
            })
        });
        Some(Simple {
            words: parts.collect(),
            is_inner: true,
            ..command.clone()
        })
    }

    /// Does what a shell of its own does: where that goes the outer one does not.
    fn apart<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        let directory = self.directory.clone();
        let done = what(self);
        self.directory = directory;
        done
    }

    /// Goes one level down, unless that is too deep.
    fn nested(&mut self, what: impl FnOnce(&mut Self)) {
        if self.nesting >= MAX_NESTING {
            self.script.unseen = true;
            return;
        }
        self.nesting += 1;
        what(self);
        self.nesting -= 1;
    }
}

impl From<String> for Word {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// A long text is cut behind a line, so that few commands are torn apart.
fn end_of_piece(text: &str) -> usize {
    if text.len() <= PIECE {
        return text.len();
    }
    let end = text.floor_char_boundary(PIECE);
    text[..end].rfind('\n').map_or(end, |at| at + 1)
}
