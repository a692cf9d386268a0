//! Reads commands out of text that is no whole script: cut at every operator, whatever stands around it.

use super::walk::Around;
use super::{MAX_INPUT, Reader, Redirect, Simple};

/// Words that may stand before a command.
const KEYWORDS: &[&str] = &[
    "!", "{", "}", "do", "then", "else", "elif", "if", "while", "until", "done", "fi", "time",
];

impl Reader<'_> {
    pub(super) fn read_flat(&mut self, text: &str) {
        let mut around = self.around_all();
        for (piece, end) in pieces(text) {
            let start = self.script.commands.len();
            self.flat_command(&piece, &around);
            if end == '|' {
                around.input.extend(start..self.script.commands.len());
                around.input.truncate(MAX_INPUT + 1); // one too many is told
            } else {
                around = self.around_all();
            }
        }
    }

    fn flat_command(&mut self, raw_words: &[String], around: &Around) {
        let mut command = Simple {
            input: around.input.clone(),
            ..Simple::default()
        };
        let mut raw_words = raw_words.iter();
        while let Some(raw) = raw_words.next() {
            let bare = raw.trim_start_matches(|char: char| char.is_ascii_digit() || char == '&');
            if let Some(target) = bare
                .strip_prefix(['<', '>'])
                .filter(|rest| !rest.starts_with('('))
            {
                let target = target.trim_start_matches(['>', '<', '|', '&']);
                let raw_target = if target.is_empty() {
                    raw_words.next().map_or("", String::as_str)
                } else {
                    target
                };
                let target = self.value(raw_target);
                if bare.starts_with("<<<") {
                    command.fed.push(target);
                } else if !target.text.is_empty() {
                    let writes = bare.starts_with('>');
                    command.redirects.push(Redirect { writes, target });
                }
                continue;
            }
            if command.words.is_empty() {
                if KEYWORDS.contains(&raw.as_str()) {
                    continue;
                }
                if let Some((name, value)) = raw.split_once('=').filter(|(name, _)| is_name(name)) {
                    let value = self.value(value);
                    self.assign(name, value.clone());
                    command.assignments.push((name.to_owned(), value));
                    continue;
                }
            }
            command.words.extend(self.words(raw));
        }
        if !command.words.is_empty() || !command.redirects.is_empty() {
            self.add(command);
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|char| char.is_alphanumeric() || char == '_')
}

/// The words between operators, each list with the operator behind it.
fn pieces(text: &str) -> Vec<(Vec<String>, char)> {
    let mut pieces = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut depth = 0_usize; // of substitutions, which stay in their word
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let operator = quote.is_none() && depth == 0 && matches!(char, ';' | '\n' | '|' | '&' | '(' | ')');
        let joins = char == '&' && (word.ends_with(['>', '<']) || chars.peek() == Some(&'>'));
        let opens = char == '(' && word.ends_with(['$', '<', '>']);
        match char {
            '\\' => {
                word.push(char);
                word.extend(chars.next());
                continue;
            }
            _ if quote == Some(char) => quote = None,
            '\'' | '"' | '`' if quote.is_none() => quote = Some(char),
            '(' if quote != Some('\'') && (opens || depth > 0) => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ if operator && !joins => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
                pieces.push((std::mem::take(&mut words), char));
                continue;
            }
            ' ' | '\t' | '\r' if quote.is_none() && depth == 0 => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
                continue;
            }
            '#' if quote.is_none() && depth == 0 && word.is_empty() => {
                while chars.next_if(|char| *char != '\n').is_some() {}
                continue;
            }
            _ => {}
        }
        word.push(char);
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    pieces.push((words, '\n'));
    pieces
}
