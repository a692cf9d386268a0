//! Finds the values of secrets in text, in every form they commonly take, and hides them.

mod dumps;

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;

/// Stands where a secret stood.
const HIDDEN: &str = "<secret-hidden>";
/// A shorter form is not looked for: hiding it would destroy ordinary text.
const SHORTEST_FORM: usize = 4;
/// The same within a picture, whose letters are as good as random: to change one is to break it.
const SHORTEST_IN_PICTURE: usize = 8;

/// The same for a line that is only part of a value.
const SHORTEST_LINE: usize = 24;

/// Bytes of values that are looked for in dumps as well, which have very many forms.
const DUMPED_LIMIT: usize = 8 * 1024;

/// Hides a set of values. It finds the longest form first where several begin at one place.
#[derive(Default)]
pub struct Mask {
    /// None if there is nothing to hide.
    matcher: Option<AhoCorasick>,
    /// What is looked for, sorted.
    forms: Vec<Vec<u8>>,
    longest: usize,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mask").finish_non_exhaustive()
    }
}

impl Mask {
    /// A mask for some values.
    pub(crate) fn of<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut dumped_left = DUMPED_LIMIT;
        let mut forms: Vec<Vec<u8>> = values
            .filter(|value| value.len() >= SHORTEST_FORM)
            .flat_map(|value| {
                let mut forms = forms_of(value);
                if let Some(left) = dumped_left.checked_sub(value.len()) {
                    dumped_left = left;
                    forms.extend(dumps::forms_of(value));
                }
                forms
            })
            .filter(|form| form.len() >= SHORTEST_FORM)
            .map(String::into_bytes)
            .collect();
        forms.sort_unstable();
        forms.dedup();
        if forms.is_empty() {
            return Self::default();
        }
        // What is hidden already is found as itself, so that nothing in it is hidden again.
        let patterns = forms.iter().map(Vec::as_slice).chain([HIDDEN.as_bytes()]);
        let matcher = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns)
            .inspect_err(|error| tracing::error!(%error, "no matcher for secrets could be built"))
            .ok();
        Self {
            matcher,
            longest: forms.iter().map(Vec::len).max().unwrap_or(0),
            forms,
        }
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.matcher.is_none()
    }

    /// The text without secrets.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.matcher {
            Some(matcher) if matcher.is_match(text) => {
                let mut hidden = String::with_capacity(text.len());
                matcher.replace_all_with(text, &mut hidden, |_, _, hidden| {
                    hidden.push_str(HIDDEN);
                    true
                });
                Cow::Owned(hidden)
            }
            Some(_) | None => Cow::Borrowed(text),
        }
    }

    /// Whether there is something to hide in a picture, and not letters that are in it by chance.
    fn is_in_picture(&self, text: &str) -> bool {
        let matcher = self.matcher.iter();
        let mut found = matcher.flat_map(|matcher| matcher.find_iter(text));
        found.any(|form| form.len() >= SHORTEST_IN_PICTURE)
    }

    /// Hides secrets in every string within a value. The names of fields stay: they are the form of the value, and whoever
    /// reads it knows them.
    pub fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) if is_picture(text) && !self.is_in_picture(text) => {}
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.hide(text) {
                    *text = hidden;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.hide_in(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.hide_in(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The same where names are data as well, such as in what a model or a client has made up.
    pub fn hide_in_data(&self, value: &mut Value) {
        match value {
            Value::Array(values) => values.iter_mut().for_each(|value| self.hide_in_data(value)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|value| self.hide_in_data(value));
                if fields.keys().any(|name| matches!(self.hide(name), Cow::Owned(_))) {
                    let named = std::mem::take(fields).into_iter();
                    *fields = named
                        .map(|(name, value)| (self.hide(&name).into_owned(), value))
                        .collect();
                }
            }
            text => self.hide_in(text),
        }
    }

    /// Where the bytes, from a place on, may be the beginning of a secret whose rest is still to come.
    fn open_end(&self, bytes: &[u8], from: usize) -> usize {
        let first = bytes
            .len()
            .saturating_sub(self.longest.saturating_sub(1))
            .max(from);
        (first..bytes.len())
            .find(|at| self.begins_form(&bytes[*at..]))
            .unwrap_or(bytes.len())
    }

    /// Whether some form is longer than these bytes and begins with them.
    fn begins_form(&self, bytes: &[u8]) -> bool {
        let at = self.forms.partition_point(|form| form.as_slice() <= bytes);
        self.forms.get(at).is_some_and(|form| form.starts_with(bytes))
    }
}

/// Whether this is a picture in letters and nothing else.
fn is_picture(text: &str) -> bool {
    let data = text
        .strip_prefix("data:image/")
        .and_then(|text| text.split_once(";base64,"));
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    data.is_some_and(|(kind, data)| {
        kind.bytes().all(|byte| byte.is_ascii_lowercase()) && data.bytes().all(is_letter)
    })
}

/// Hides secrets in a stream, also those that are split between two pieces of it.
#[derive(Default)]
pub struct MaskedStream {
    /// What may be the beginning of a secret.
    held: Vec<u8>,
}

impl fmt::Debug for MaskedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskedStream").finish_non_exhaustive()
    }
}

impl MaskedStream {
    /// Gives what can be given of the stream so far.
    pub fn push(&mut self, mask: &Mask, bytes: &[u8], mut take: impl FnMut(&[u8])) {
        let mut give = |bytes: &[u8]| {
            if !bytes.is_empty() {
                take(bytes);
            }
        };
        let Some(matcher) = &mask.matcher else {
            self.end(mask, &mut give);
            return give(bytes);
        };
        self.held.extend_from_slice(bytes);
        let bytes = self.held.as_slice();
        // No match that begins before `open` can become a longer one.
        let (mut done, mut open) = (0, mask.open_end(bytes, 0));
        for found in matcher.find_iter(bytes) {
            if found.start() >= open {
                break;
            }
            give(&bytes[done..found.start()]);
            give(HIDDEN.as_bytes());
            done = found.end();
            if done > open {
                open = mask.open_end(bytes, done);
            }
        }
        give(&bytes[done..open]);
        self.held.drain(..open);
    }

    /// Gives what was held back: nothing more is to come.
    pub fn end(&mut self, mask: &Mask, mut give: impl FnMut(&[u8])) {
        let held = std::mem::take(&mut self.held);
        match &mask.matcher {
            _ if held.is_empty() => {}
            Some(matcher) => {
                let mut hidden = Vec::with_capacity(held.len());
                matcher.replace_all_with_bytes(&held, &mut hidden, |_, _, hidden| {
                    hidden.extend_from_slice(HIDDEN.as_bytes());
                    true
                });
                give(&hidden);
            }
            None => give(&held),
        }
    }
}

/// A value as it is and as programs like to write it.
fn forms_of(value: &str) -> Vec<String> {
    let json = Value::from(value).to_string();
    let hex = written(value, |byte, text| write!(text, "{byte:02x}"));
    let url = written(value, |byte, text| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            write!(text, "{}", char::from(byte))
        }
        _ => write!(text, "%{byte:02X}"),
    });
    let mut forms = vec![
        value.to_owned(),
        json[1..json.len() - 1].to_owned(),
        json[1..json.len() - 1].replace('/', "\\/"),
        hex.to_uppercase(),
        hex,
        lower_escapes(&url),
        lower_escapes(&url).replace("%2f", "/"),
        url.replace("%2F", "/"),
        url.replace("%20", "+"),
        url,
        STANDARD.encode(value),
        URL_SAFE.encode(value),
    ];
    for shift in 0..3 {
        let core = base64_core(value, shift);
        forms.push(core.replace('+', "-").replace('/', "_"));
        forms.push(core);
    }
    forms.extend(lines_of(value));
    forms
}

/// The lines in which programs write a long value, and those of a value that has some itself, as keys have: each of them
/// tells a part of it.
fn lines_of(value: &str) -> Vec<String> {
    let hex = written(value, |byte, text| write!(text, "{byte:02x}"));
    let base64 = base64_core(value, 0);
    // As `openssl`, `base64` and `xxd -p` break them.
    let mut lines: Vec<_> = [(&base64, 64), (&base64, 76), (&hex, 60)]
        .into_iter()
        .filter(|(text, width)| text.len() > *width)
        .flat_map(|(text, width)| text.as_bytes().chunks(width))
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    let is_of_key = |line: &&str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte);
        let is_rule = !line.bytes().any(|byte| byte.is_ascii_alphanumeric());
        line.len() < value.len() && !is_rule && line.bytes().all(is_letter)
    };
    // Within JSON the end of a line is written out.
    let own = value.split("\\n").flat_map(str::lines);
    lines.extend(own.filter(is_of_key).map(str::to_owned));
    lines.retain(|line| line.len() >= SHORTEST_LINE);
    lines
}

fn written(value: &str, mut write: impl FnMut(u8, &mut String) -> fmt::Result) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        let _ = write(byte, &mut text); // a string takes everything
    }
    text
}

/// The same with `%2f` for `%2F`.
fn lower_escapes(url: &str) -> String {
    let mut parts = url.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (escape, rest) = part.split_at(2);
        text + "%" + &escape.to_lowercase() + rest
    })
}

/// The part of its base64 form that is the same whatever stands around the value, when `shift` bytes (modulo three)
/// stand before it.
fn base64_core(value: &str, shift: usize) -> String {
    let bytes = [&[0; 3][..shift], value.as_bytes()].concat();
    let text = STANDARD.encode(&bytes);
    text[(shift * 8).div_ceil(6)..bytes.len() * 8 / 6].to_owned()
}

#[cfg(test)]
mod tests;
