//! What a shell makes of an argument: quotes, variables, substitutions, braces.

use super::{Origin, Reader, Word, name_of};
use crate::place;

/// Words that braces may become.
const MAX_ALTERNATIVES: usize = 64;
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
            Some('\'') if quotes == Quotes::None => ansi(&text[1..], words),
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
            Some(value) if value.text.len() <= MAX_VALUE => words.put(value, quotes),
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
        let range = self.read(inside);
        let commands = &self.script.commands[range];
        if let [command] = commands
            && let Some(text) = printed(&command.words)
        {
            let origin = Origin::Computed.max(text.origin);
            return words.put(&Word { origin, ..text }, quotes);
        }
        let origin = commands.iter().map(|command| match command.verb() {
            verb if is_fetcher(verb) => Origin::Fetched,
            verb if is_decoder(verb) => Origin::Decoded,
            _ => Origin::Open,
        });
        words.mark(origin.max().unwrap_or(Origin::Open));
    }
}

/// What `echo` and `printf` would print, if it is one of them.
pub(crate) fn printed(words: &[Word]) -> Option<Word> {
    let (verb, rest) = words.split_first()?;
    let rest = match name_of(&verb.text) {
        "echo" => {
            let options = rest
                .iter()
                .take_while(|word| matches!(word.text.as_str(), "-n" | "-e" | "-ne" | "-en" | "-E"));
            &rest[options.count()..]
        }
        "printf" => rest,
        _ => return None,
    };
    let mut text = join(rest);
    // The escapes that `printf` and `echo -e` know, well enough.
    if text.text.contains('\\') {
        let mut words = Words::default();
        ansi(&text.text, &mut words);
        text.text = words.word.text;
    }
    if name_of(&verb.text) == "printf"
        && let Some((format, values)) = rest.split_first()
        && format.text.contains('%')
    {
        // Good enough for a look: one value for each place, the others behind.
        for value in values {
            text.text = text.text.replacen("%s", &value.text, 1);
        }
    }
    Some(text)
}

pub(super) fn join(words: &[Word]) -> Word {
    Word {
        text: words
            .iter()
            .map(|word| word.text.as_str())
            .collect::<Vec<_>>()
            .join(" "),
        origin: words.iter().map(|word| word.origin).max().unwrap_or_default(),
        is_pattern: words.iter().any(|word| word.is_pattern),
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

/// `$'…'` up to its end (or all, where there is none); the rest is returned.
fn ansi<'t>(text: &'t str, words: &mut Words) -> &'t str {
    words.push("");
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        if char == '\'' {
            return &text[at + 1..];
        }
        if char != '\\' {
            words.word.text.push(char);
            continue;
        }
        let Some((_, kind)) = chars.next() else { break };
        let (radix, most) = match kind {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 3),
            _ => (0, 0),
        };
        if radix == 0 {
            words.word.text.push(match kind {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            });
            continue;
        }
        let mut digits = if radix == 8 {
            kind.to_string()
        } else {
            String::new()
        };
        while digits.len() < most
            && let Some((_, digit)) = chars.next_if(|(_, digit)| digit.is_digit(radix))
        {
            digits.push(digit);
        }
        let code = u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32);
        words.word.text.extend(code);
    }
    ""
}

fn end_of_double(text: &str) -> usize {
    let mut at = 0;
    while let Some(char) = text[at..].chars().next() {
        match char {
            '"' => return at,
            '\\' => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            '$' if text[at + 1..].starts_with('(') => at += 1 + closing(&text[at + 1..], '(', ')') + 1,
            '`' => at += 1 + end_of_backticks(&text[at + 1..]) + 1,
            _ => at += char.len_utf8(),
        }
        if at >= text.len() {
            break;
        }
    }
    text.len()
}

fn end_of_backticks(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != b'`' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// Where the bracket that `text` begins with is closed; the end, where it is not.
fn closing(text: &str, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match (char, quote) {
            ('\'', Some('\'')) | ('"', Some('"')) => quote = None,
            (_, Some('\'')) => {}
            ('\\', _) => {
                chars.next();
            }
            ('\'' | '"', None) => quote = Some(char),
            (_, Some(_)) => {}
            _ if char == open => depth += 1,
            _ if char == close => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// `a{b,c}` as `ab` and `ac`.
fn alternatives(raw: &str) -> Vec<String> {
    let mut found = vec![raw.to_owned()];
    let mut at = 0;
    while at < found.len() && found.len() < MAX_ALTERNATIVES {
        match braces(&found[at]) {
            Some(parts) => {
                found.splice(at..=at, parts);
            }
            None => at += 1,
        }
    }
    found
}

/// The first braces of a word that list alternatives, written out.
fn braces(raw: &str) -> Option<Vec<String>> {
    let mut quote = None;
    let mut open: Option<usize> = None;
    let mut commas: Vec<usize> = Vec::new();
    let mut before = ' ';
    for (at, char) in raw.char_indices() {
        match (char, quote) {
            _ if before == '\\' => {
                before = ' ';
                continue;
            }
            (_, Some(open)) if char == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"' | '`', None) => quote = Some(char),
            ('{', None) if before != '$' => {
                open = Some(at);
                commas.clear();
            }
            ('(', None) if before == '$' => return None,
            (',', None) if open.is_some() => commas.push(at),
            ('}', None) => {
                if let Some(start) = open.take()
                    && !commas.is_empty()
                {
                    commas.push(at);
                    let mut from = start + 1;
                    let parts = commas.iter().take(MAX_ALTERNATIVES).map(|comma| {
                        let part = format!("{}{}{}", &raw[..start], &raw[from..*comma], &raw[at + 1..]);
                        from = comma + 1;
                        part
                    });
                    return Some(parts.collect());
                }
            }
            _ => {}
        }
        before = char;
    }
    None
}
