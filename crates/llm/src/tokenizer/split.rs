//! Cuts a text into the words that tokens never reach across, by the published rules of each vocabulary.
//!
//! Those are regular expressions. Written out they need no engine with tables of its own.

use unicode_properties::{GeneralCategory as Category, GeneralCategoryGroup, UnicodeGeneralCategory};

const SUFFIXES: &[&str] = &["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];
const MAX_DIGITS: usize = 3;

/// The length of the first word, by the rules of `cl100k_base`. The text is not empty.
pub(super) fn cl100k(text: &str) -> usize {
    let word = || {
        let start = before_letters(text);
        run(&text[start..], is_letter).map(|length| start + length)
    };
    suffix(text)
        .or_else(word)
        .or_else(|| digits(text))
        .or_else(|| marks(text, &['\r', '\n']))
        .or_else(|| run(text, char::is_whitespace).filter(|end| *end == text.len()))
        .unwrap_or_else(|| blanks(text))
}

/// The length of the first word, by the rules of `o200k_base`. The text is not empty.
pub(super) fn o200k(text: &str) -> usize {
    let word = |start: usize| {
        let end = start + cased(&text[start..])?;
        Some(end + suffix(&text[end..]).unwrap_or(0))
    };
    word(before_letters(text))
        .or_else(|| word(0))
        .or_else(|| digits(text))
        .or_else(|| marks(text, &['\r', '\n', '/']))
        .unwrap_or_else(|| blanks(text))
}

/// One sign may stand before the letters of a word and belong to it.
fn before_letters(text: &str) -> usize {
    let first = text.chars().next();
    let sign = first.filter(|c| !matches!(c, '\r' | '\n') && !is_letter(*c) && !is_digit(*c));
    sign.map_or(0, char::len_utf8)
}

/// Capitals, then small letters; what has no case counts as both. Where no small letter follows, the word ends after
/// the last that has no case, if there is one.
fn cased(text: &str) -> Option<usize> {
    let upper = run(text, is_upper).unwrap_or(0);
    if let Some(lower) = run(&text[upper..], is_lower) {
        return Some(upper + lower);
    }
    let uncased = text[..upper].rfind(is_lower);
    let end = |start: usize| start + text[start..].chars().next().map_or(0, char::len_utf8);
    Some(uncased.map_or(upper, end)).filter(|length| *length > 0)
}

/// What is short for another word.
fn suffix(text: &str) -> Option<usize> {
    let fits = |suffix: &&&str| {
        text.get(..suffix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(suffix))
    };
    // One more letter is folded to `s`.
    let long_s = text.starts_with("'ſ").then_some("'ſ".len());
    SUFFIXES.iter().find(fits).map(|suffix| suffix.len()).or(long_s)
}

fn digits(text: &str) -> Option<usize> {
    let digits = text.chars().take(MAX_DIGITS).take_while(|c| is_digit(*c));
    Some(digits.map(char::len_utf8).sum()).filter(|length| *length > 0)
}

/// Signs with a blank before them and `tail` after them.
fn marks(text: &str, tail: &[char]) -> Option<usize> {
    let start = usize::from(text.starts_with(' '));
    let is_mark = |c: char| !c.is_whitespace() && !is_letter(c) && !is_digit(c);
    let end = start + run(&text[start..], is_mark)?;
    Some(end + run(&text[end..], |c| tail.contains(&c)).unwrap_or(0))
}

/// Blanks up to their last line break; without one all of them at the end of the text, else all but the one that
/// belongs to the next word.
fn blanks(text: &str) -> usize {
    let all = run(text, char::is_whitespace).unwrap_or(text.len());
    if let Some(last) = text[..all].rfind(['\r', '\n']) {
        return last + 1;
    }
    let last = text[..all].chars().next_back().map_or(0, char::len_utf8);
    if all == text.len() || all == last {
        all
    } else {
        all - last
    }
}

/// How far a kind of characters reaches.
fn run(text: &str, is_kind: impl Fn(char) -> bool) -> Option<usize> {
    let end = text.find(|c| !is_kind(c)).unwrap_or(text.len());
    Some(end).filter(|end| *end > 0)
}

fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    c.general_category_group() == GeneralCategoryGroup::Letter
}

fn is_digit(c: char) -> bool {
    c.is_numeric()
}

fn is_upper(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_uppercase();
    }
    let category = c.general_category();
    matches!(category, Category::UppercaseLetter | Category::TitlecaseLetter) || is_uncased(category)
}

fn is_lower(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_lowercase();
    }
    let category = c.general_category();
    category == Category::LowercaseLetter || is_uncased(category)
}

/// Letters without a case, and what is put on letters.
fn is_uncased(category: Category) -> bool {
    matches!(
        category,
        Category::ModifierLetter
            | Category::OtherLetter
            | Category::NonspacingMark
            | Category::SpacingMark
            | Category::EnclosingMark
    )
}
