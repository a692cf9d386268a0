//! Files that a script writes and then runs: their text is a script, too.

use super::printed::printed;
use super::{MAX_TEXT, Origin, Reader, Simple, Word, is_decoder, is_fetcher, is_interpreter, name_of};

/// Texts that are written and remembered.
const MAX_WRITES: usize = 256;

/// A text that goes into a file.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// The file's name without its directory, for nobody knows where `cd` and links lead; empty where it is open.
    name: String,
    text: Word,
}

impl Reader<'_> {
    /// Notes what a command writes into files, as far as its text is known.
    pub(super) fn remember_written(&mut self, command: &Simple) {
        let redirected = command.redirects.iter().filter(|redirect| redirect.writes);
        let mut files: Vec<&Word> = redirected.map(|redirect| &redirect.target).collect();
        let mut texts = outputs(command);
        match command.verb() {
            "tee" => files.extend(operands(command)),
            "cp" | "mv" | "ln" | "install" => {
                let named: Vec<&Word> = operands(command).collect();
                if let Some((to, from)) = named.split_last() {
                    let Some(copied) = self.texts_of(from.iter().copied(), |_| true) else {
                        return;
                    };
                    texts.extend(copied);
                    files.push(*to);
                }
            }
            _ => {}
        }
        let earlier = command.input.iter();
        let earlier = earlier.filter_map(|at| self.script.commands.get(*at));
        texts.extend(earlier.flat_map(outputs));
        for file in files {
            for text in &texts {
                let written = Written {
                    name: name_of(&file.text).to_owned(),
                    text: text.clone(),
                };
                if self.written.contains(&written) {
                    continue;
                }
                let size: usize = self.written.iter().map(|one| one.text.text.len()).sum();
                if self.written.len() >= MAX_WRITES || size + text.text.len() > MAX_TEXT {
                    self.script.unseen = true;
                    return;
                }
                self.written.push(written);
            }
        }
    }

    /// Gives a command the text of the files that it runs or reads, if this script wrote them.
    pub(super) fn feed_written(&mut self, command: &mut Simple) {
        if self.written.is_empty() {
            return;
        }
        let redirected = command.redirects.iter().filter(|redirect| !redirect.writes);
        let redirected = redirected.map(|redirect| &redirect.target);
        let passed_on = operands(command).filter(|_| command.verb() == "cat");
        // What is not known matters to those alone who run it.
        let matters = |text: &Word| !text.text.is_empty() || is_interpreter(command.verb());
        let read = self.texts_of(redirected.chain(passed_on), matters);
        let run = self.texts_of(programs(command).into_iter(), |_| true);
        if let (Some(read), Some(run)) = (read, run) {
            command.fed.extend(read);
            command.program = run;
        }
    }

    /// What was written into these files, if that is not more than commands may still be given.
    fn texts_of<'w>(
        &mut self,
        files: impl Iterator<Item = &'w Word>,
        matters: impl Fn(&Word) -> bool,
    ) -> Option<Vec<Word>> {
        let mut texts = Vec::new();
        for file in files {
            for text in self.text_of(file).into_iter().filter(&matters) {
                let Some(left) = self.feed_left.checked_sub(text.text.len() + 1) else {
                    self.script.unseen = true;
                    return None;
                };
                self.feed_left = left;
                texts.push(text);
            }
        }
        Some(texts)
    }

    /// What was written into the file that a word names: each text by itself, for it may have been the last, and all
    /// behind one another, for they may have been appended.
    fn text_of(&self, file: &Word) -> Vec<Word> {
        let name = name_of(&file.text);
        let written = self.written.iter();
        let written = written.filter(|one| file.is_pattern || one.name == name);
        let mut texts: Vec<Word> = written.map(|one| one.text.clone()).collect();
        if texts.len() > 1 {
            texts.push(Word {
                text: texts.iter().map(|text| text.text.as_str()).collect(),
                origin: texts.iter().map(|text| text.origin).max().unwrap_or_default(),
                is_pattern: false,
            });
        }
        texts
    }

    /// A file of this script's own that is started by its path runs in the program that its first line names.
    pub(super) fn add_started(&mut self, command: &Simple) {
        let is_path = |file: &&Word| file.text.contains('/') || !file.is_known();
        let Some(file) = command.words.first().filter(is_path) else {
            return;
        };
        for text in self.text_of(file) {
            let first = text.text.lines().next().unwrap_or_default();
            let named = first.strip_prefix("#!").unwrap_or_default().split_whitespace();
            let mut words: Vec<Word> = named.map(|word| Word::from(word.to_owned())).collect();
            if words.is_empty() {
                words.push(Word::from("sh".to_owned()));
            }
            words.push(file.clone());
            self.add_words(&words, command);
        }
    }

    /// Reads a text that a command runs, unless it is that text that starts the command.
    pub(super) fn read_program(&mut self, text: &str) {
        if self.reading.iter().any(|outer| outer == text) {
            return;
        }
        self.reading.push(text.to_owned());
        self.read(text);
        self.reading.pop();
    }
}

/// The files that a command runs: `bash x.sh`, `python -u x.py`, `deno run x.ts`. What stands behind an option may be its
/// value, so that the next one is looked at as well.
fn programs(command: &Simple) -> Vec<&Word> {
    let verb = command.verb();
    if !is_interpreter(verb) && !matches!(verb, "source" | ".") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for pair in command.words.windows(2) {
        let [before, word] = pair else { continue };
        if word.text.starts_with(['-', '+']) {
            continue;
        }
        found.push(word);
        if !before.text.starts_with(['-', '+']) && word.text != "run" {
            break;
        }
    }
    found
}

/// What a command prints or passes on; a text that is not known, where it makes one of its own.
fn outputs(command: &Simple) -> Vec<Word> {
    let fed = command.fed.iter().cloned();
    let mut texts: Vec<Word> = fed.chain(printed(&command.words)).collect();
    let origin = match command.verb() {
        verb if is_fetcher(verb) => Origin::Fetched,
        verb if is_decoder(verb) => Origin::Decoded,
        "" | ":" | "true" | "cat" | "tee" | "sed" | "grep" | "head" | "tail" => return texts,
        _ if texts.is_empty() => Origin::Open,
        _ => return texts,
    };
    texts.push(Word {
        origin,
        ..Word::default()
    });
    texts
}

fn operands(command: &Simple) -> impl Iterator<Item = &Word> {
    let arguments = command.words.iter().skip(1);
    arguments.filter(|word| !word.text.starts_with('-'))
}
