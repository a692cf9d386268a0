//! What a shell makes of an argument: quotes, variables, substitutions, braces.

use super::printed::{join, printed, unescaped};
use super::scan::{alternatives, closing, end_of_backticks, end_of_double};
use super::{Origin, Reader, Word};
use crate::place;

/// Words that braces may become.
pub(super) const MAX_ALTERNATIVES: usize = 64;
/// Bytes of a word. What is longer is open.
const MAX_WORD: usize = 64 * 1024;
/// Bytes of a variable's value that is put in. Without this, a few doublings would fill the memory.
const MAX_VALUE: usize = 1024;
/// Programs that make text readable that was not.
const DECODERS: &[&str] = &[
    "base64", "base32", "xxd", "uudecode", "openssl", "gpg", "zcat", "gunzip", "rev", "tr",
];
/// Programs that fetch from the network.
const FETCHERS: &[&str] = &[
    "curl", "wget", "fetch", "aria2c", "http", "https", "nc", "ncat", "netcat", "lynx", "w3m",
];

pub(crate) fn is_decoder(verb: &str) -> bool {
    DECODERS.contains(&verb)
}

pub(crate) fn is_fetcher(verb: &str) -> bool {
    FETCHERS.contains(&verb)
}

/// How much is known of what a program prints, where that is not told by its arguments.
pub(super) fn origin_of_output(verb: &str) -> Origin {
    match verb {
        _ if is_fetcher(verb) => Origin::Fetched,
        _ if is_decoder(verb) => Origin::Decoded,
        _ => Origin::Open,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Double,
}

/// Words in the making.
#[derive(Default)]
struct Words {
    done: Vec<Word>,
    word: Word,
    /// There is a word, if only an empty one.
    begun: bool,
}

impl Words {
    fn push(&mut self, text: &str) {
        if self.word.text.len() + text.len() > MAX_WORD {
            return self.mark(Origin::Open);
        }
        self.word.text.push_str(text);
        self.begun = true;
    }

    fn mark(&mut self, origin: Origin) {
        self.word.origin = self.word.origin.max(origin);
        self.begun = true;
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.begun) {
            self.done.push(std::mem::take(&mut self.word));
        }
    }

    /// Puts a value in; where it is not quoted, its spaces separate words.
    fn put(&mut self, value: &Word, quotes: Quotes) {
        self.word.origin = self.word.origin.max(value.origin);
        if quotes == Quotes::Double || !value.text.contains(char::is_whitespace) {
            return self.push(&value.text);
        }
        for part in value.text.split_inclusive(char::is_whitespace) {
            let trimmed = part.trim_end();
            if !trimmed.is_empty() {
                self.push(trimmed);
            }
            if trimmed.len() < part.len() {
                self.end();
                self.word.origin = value.origin;
            }
        }
    }
}

impl Reader<'_> {
    /// The words that an argument becomes.
    pub(super) fn words(&mut self, raw: &str) -> Vec<Word> {
        let mut words = Words::default();
        let alternatives = alternatives(raw);
        self.script.unseen |= alternatives.len() >= MAX_ALTERNATIVES;
        for alternative in alternatives {
            self.resolve(&alternative, Quotes::None, &mut words);
            words.end();
        }
        words.done
    }

    /// A value that is not taken apart, such as that of a variable.
    pub(super) fn value(&mut self, raw: &str) -> Word {
        let words = self.words(raw);
        join(&words)
    }

    /// Text in which only `$` and backticks mean something.
    pub(super) fn quoted(&mut self, raw: &str) -> Word {
        let mut words = Words::default();
        self.resolve(raw, Quotes::Double, &mut words);
        words.end();
        words.done.pop().unwrap_or_default()
    }

    fn resolve(&mut self, raw: &str, quotes: Quotes, words: &mut Words) {
        self.nested(|reader| reader.resolve_here(raw, quotes, words));
    }

    fn resolve_here(&mut self, raw: &str, quotes: Quotes, words: &mut Words) {
        let mut rest = raw;
        while let Some(char) = rest.chars().next() {
            let after = &rest[char.len_utf8()..];
            rest = match char {
                '\\' => escaped(after, quotes, words),
                '\'' if quotes == Quotes::None => {
                    let (inside, more) = after.split_once('\'').unwrap_or((after, ""));
                    words.push(inside);
                    more
                }
                '"' if quotes == Quotes::None => {
                    let end = end_of_double(after);
                    words.push("");
                    self.resolve(&after[..end], Quotes::Double, words);
                    after.get(end + 1..).unwrap_or_default()
                }
                '$' => self.dollar(after, quotes, words),
                '`' => {
                    let end = end_of_backticks(after);
                    self.substitute(&after[..end].replace("\\`", "`"), quotes, words);
                    after.get(end + 1..).unwrap_or_default()
                }
                '<' | '>' if quotes == Quotes::None && after.starts_with('(') => {
                    let end = closing(after, '(', ')');
                    self.substitute(&after[1..end], Quotes::Double, words);
                    words.mark(Origin::Open);
                    after.get(end + 1..).unwrap_or_default()
                }
                '~' if quotes == Quotes::None && !words.begun => {
                    let end = after.find('/').unwrap_or(after.len());
                    let home = match &after[..end] {
                        "" => place::home(self.workspace),
                        user => format!("/home/{user}"),
                    };
                    words.push(&home);
                    &after[end..]
                }
                ' ' | '\t' | '\n' if quotes == Quotes::None => {
                    words.end();
                    after
                }
                _ => {
                    words.word.is_pattern |= quotes == Quotes::None && matches!(char, '*' | '?' | '[');
                    words.push(&rest[..char.len_utf8()]);
                    after
                }
            };
        }
    }

    /// What stands behind a dollar sign; the rest is returned.
    fn dollar<'t>(&mut self, text: &'t str, quotes: Quotes, words: &mut Words) -> &'t str {
        match text.chars().next() {
            Some('(') => {
                let end = closing(text, '(', ')');
                let inside = &text[1..end];
                if let Some(sum) = inside.strip_prefix('(') {
                    self.quoted(sum);
                    words.mark(Origin::Open);
                } else {
                    self.substitute(inside, quotes, words);
                }
                text.get(end + 1..).unwrap_or_default()
            }
            Some('{') => {
                let end = closing(text, '{', '}');
                self.parameter(&text[1..end], quotes, words);
                text.get(end + 1..).unwrap_or_default()
            }
            Some('\'') if quotes == Quotes::None => {
                let (plain, rest) = unescaped(&text[1..], Some('\''));
                words.push(&plain);
                rest
            }
            Some('"') if quotes == Quotes::None => text,
            // There are no arguments where commands are typed: attached to a word these are nothing.
            Some('@' | '*') => {
                if !words.begun && text.len() == 1 {
                    words.mark(Origin::Open);
                }
                &text[1..]
            }
            Some(char) if char.is_ascii_digit() || matches!(char, '?' | '$' | '#' | '!' | '-') => {
                words.mark(Origin::Open);
                &text[1..]
            }
            Some(char) if char.is_alphabetic() || char == '_' => {
                let is_name = |char: char| char.is_alphanumeric() || char == '_';
                let end = text.find(|char| !is_name(char)).unwrap_or(text.len());
                self.variable(&text[..end], quotes, words);
                &text[end..]
            }
            _ => {
                words.push("$");
                text
            }
        }
    }

    fn variable(&mut self, name: &str, quotes: Quotes, words: &mut Words) {
        if name == "IFS" && !self.variables.contains_key(name) {
            return words.put(&Word::from(" ".to_owned()), quotes);
        }
        match self.variables.get(name) {
            Some(value) if value.text.len() <= MAX_VALUE => {
                let origin = Origin::Computed.max(value.origin);
                words.put(
                    &Word {
                        origin,
                        ..value.clone()
                    },
                    quotes,
                );
            }
            Some(_) | None => words.mark(Origin::Open),
        }
    }

    /// `${…}`: a name, or a name with a value to use without it; all else is open.
    fn parameter(&mut self, inside: &str, quotes: Quotes, words: &mut Words) {
        let is_name = |char: char| char.is_alphanumeric() || char == '_';
        let end = inside.find(|char| !is_name(char)).unwrap_or(inside.len());
        let (name, operation) = inside.split_at(end);
        let default = operation.trim_start_matches(':').strip_prefix(['-', '=']);
        match (name, operation, default) {
            ("", "@" | "*", _) => {}
            (_, "", _) => self.variable(name, quotes, words),
            (_, _, Some(_)) if self.variables.contains_key(name) => self.variable(name, quotes, words),
            (_, _, Some(default)) => {
                let value = self.quoted(default);
                words.put(&value, quotes);
            }
            _ => {
                self.quoted(operation);
                words.mark(Origin::Open);
            }
        }
    }

    /// The output of commands. That of `echo` is known.
    fn substitute(&mut self, inside: &str, quotes: Quotes, words: &mut Words) {
        let range = self.apart(|reader| reader.read(inside));
        let commands = &self.script.commands[range];
        if let [command] = commands
            && let Some(text) = printed(&command.words)
        {
            let origin = Origin::Computed.max(text.origin);
            return words.put(&Word { origin, ..text }, quotes);
        }
        let origins = commands.iter().map(|command| origin_of_output(command.verb()));
        words.mark(origins.max().unwrap_or(Origin::Open));
    }
}

fn escaped<'t>(after: &'t str, quotes: Quotes, words: &mut Words) -> &'t str {
    let Some(char) = after.chars().next() else {
        words.push("\\");
        return after;
    };
    let rest = &after[char.len_utf8()..];
    if char != '\n' {
        if quotes == Quotes::Double && !matches!(char, '"' | '\\' | '$' | '`') {
            words.push("\\");
        }
        words.push(&after[..char.len_utf8()]);
    }
    rest
}
