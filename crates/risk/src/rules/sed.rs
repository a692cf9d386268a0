//! What sed can do besides editing: its command `e` and `s/…/…/e` start programs, `w` and `s/…/…/w` write files.

use crate::shell::{Simple, Word};

/// What a command of sed's does to others.
#[derive(Debug, PartialEq, Eq)]
enum Effect<'p> {
    Starts,
    Writes(&'p str),
}

/// The first of its programs that starts others.
pub(super) fn started_from_sed(command: &Simple) -> Option<&str> {
    if !is_sed(command.verb()) {
        return None;
    }
    let arguments = command.words.get(1..).unwrap_or_default();
    let starts = |word: &&str| effects(word).contains(&Effect::Starts);
    programs(arguments).map(|(_, code)| code).find(starts)
}

/// The files that its programs write, and the words in which that stands.
pub(super) fn written_by_sed(command: &Simple) -> Vec<(&str, &Word)> {
    if !is_sed(command.verb()) {
        return Vec::new();
    }
    let arguments = command.words.get(1..).unwrap_or_default();
    let written = programs(arguments).flat_map(|(word, code)| {
        effects(code).into_iter().filter_map(move |effect| match effect {
            Effect::Writes(file) => Some((file, word)),
            Effect::Starts => None,
        })
    });
    written.collect()
}

fn is_sed(verb: &str) -> bool {
    matches!(verb, "sed" | "gsed")
}

/// The texts that may be programs: what is behind `-e` and the like, and else the first argument that is no option.
fn programs(arguments: &[Word]) -> impl Iterator<Item = (&Word, &str)> {
    let words = || arguments.iter().map(|word| (word, word.text.as_str()));
    let joined = words().filter_map(|(word, text)| {
        let Some(name) = text.strip_prefix("--") else {
            return Some((word, text.strip_prefix('-')?.split_once('e')?.1)); // as in -ne
        };
        let (name, code) = name.split_once('=')?;
        "expression".starts_with(name).then_some((word, code))
    });
    let behind = words().zip(words().skip(1));
    let behind = behind
        .filter(|((_, option), _)| *option == "--expression" || is_short(option))
        .map(|(_, code)| code);
    let mut given: Vec<_> = joined.chain(behind).collect();
    if given.is_empty() {
        given.extend(words().find(|(_, text)| !text.starts_with('-')));
    }
    given.into_iter()
}

/// Whether short options end with the one whose value is a program.
fn is_short(option: &str) -> bool {
    option.starts_with('-') && !option.starts_with("--") && option.ends_with('e')
}

/// Reads a program command by command: what stands in patterns and texts is no command.
fn effects(code: &str) -> Vec<Effect<'_>> {
    let mut found = Vec::new();
    let mut rest = code;
    loop {
        let mut chars = without_address(rest).chars();
        let Some(command) = chars.next() else {
            return found;
        };
        rest = chars.as_str();
        match command {
            'e' => {
                found.push(Effect::Starts);
                rest = behind_lines(rest);
            }
            's' | 'y' => {
                let second = behind_part(rest).and_then(|(delimiter, text)| behind_text(delimiter, text));
                let end = |char: char| char.is_whitespace() || ";}w".contains(char);
                let (flags, behind) = second.map_or(("", ""), |text| {
                    text.split_at(text.find(end).unwrap_or(text.len()))
                });
                if command == 's' && flags.contains('e') {
                    found.push(Effect::Starts);
                }
                rest = behind; // where it writes, that begins with the command that does
            }
            'w' | 'W' => {
                let file = rest.split('\n').next().unwrap_or_default();
                found.push(Effect::Writes(file.trim()));
                rest = behind_lines(rest);
            }
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => rest = behind_lines(rest),
            ':' | 'b' | 't' | 'T' => rest = behind(rest, &['\n', ';']),
            _ => {}
        }
    }
}

/// What is behind a line, and behind those that it goes on in.
fn behind_lines(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, behind)) = rest.split_once('\n') {
        if !line.ends_with('\\') {
            return behind;
        }
        rest = behind;
    }
    ""
}

fn behind<'a>(text: &'a str, ends: &[char]) -> &'a str {
    text.split_once(ends).map_or("", |(_, behind)| behind)
}

/// A command behind the lines that it is for.
fn without_address(text: &str) -> &str {
    let mut rest = text;
    loop {
        let is_between =
            |char: char| char.is_whitespace() || char.is_ascii_digit() || ",$!~+;{}".contains(char);
        let command = rest.trim_start_matches(is_between);
        let pattern = command.strip_prefix('\\').unwrap_or(command);
        let is_pattern = command.starts_with(['/', '\\']);
        match behind_part(pattern).filter(|_| is_pattern) {
            Some((_, behind)) => rest = behind,
            None if is_pattern => return "",
            None => return command,
        }
    }
}

/// What is behind the first part of `/part/…`, and what ends it.
fn behind_part(text: &str) -> Option<(char, &str)> {
    let delimiter = text.chars().next()?;
    Some((delimiter, behind_text(delimiter, &text[delimiter.len_utf8()..])?))
}

fn behind_text(delimiter: char, text: &str) -> Option<&str> {
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char == delimiter {
            return Some(chars.as_str());
        }
        if char == '\\' {
            chars.next();
        }
    }
    None
}
