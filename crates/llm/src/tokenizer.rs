//! The tokenizers that OpenAI publishes: exact counts without asking anybody.
//!
//! The crates that do this carry five to twenty megabytes of tables. Counting needs only the tokens themselves, which
//! are 1.4 MB for both vocabularies, packed by `data/vocabulary.py` and unpacked when first needed.

mod split;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;

/// A longer word is counted in parts, because merging takes the square of a word's length. A cut makes a difference
/// of about one token, and nobody writes such words but encoders.
const MAX_WORD_BYTES: usize = 512;

/// The vocabulary of the models since GPT-4o.
static O200K: LazyLock<Ranks> =
    LazyLock::new(|| unpack(include_bytes!("../data/o200k_base.deflate"), 199_998));
/// The vocabulary of GPT-4 and GPT-3.5.
static CL100K: LazyLock<Ranks> =
    LazyLock::new(|| unpack(include_bytes!("../data/cl100k_base.deflate"), 100_256));

/// A token's place in its vocabulary: the lower, the earlier it is put together.
type Ranks = HashMap<Box<[u8]>, u32>;

/// How names of models begin; the last that fits decides.
const FAMILIES: &[(&str, Tokenizer)] = &[
    ("gpt-3.5", Tokenizer::Cl100k),
    ("gpt-35", Tokenizer::Cl100k),
    ("gpt-4", Tokenizer::Cl100k),
    ("gpt-4o", Tokenizer::O200k),
    ("gpt-4.", Tokenizer::O200k),
    ("gpt-5", Tokenizer::O200k),
    ("gpt-6", Tokenizer::O200k),
    ("gpt-oss", Tokenizer::O200k),
    ("chatgpt-", Tokenizer::O200k),
    ("codex-", Tokenizer::O200k),
    ("o1", Tokenizer::O200k),
    ("o3", Tokenizer::O200k),
    ("o4", Tokenizer::O200k),
];

/// A tokenizer that is public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tokenizer {
    O200k,
    Cl100k,
}

impl Tokenizer {
    /// The tokenizer of a model, whoever serves it.
    pub(crate) fn of_model(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let own = name.rsplit('/').next().unwrap_or(&name);
        let family = FAMILIES.iter().rfind(|(start, _)| own.starts_with(start))?;
        Some(family.1)
    }

    /// How many tokens a text is.
    pub(crate) fn count(self, text: &str) -> u64 {
        let (ranks, words) = match self {
            Self::O200k => (&*O200K, split::o200k as fn(&str) -> usize),
            Self::Cl100k => (&*CL100K, split::cl100k as fn(&str) -> usize),
        };
        let mut rest = text;
        let mut tokens = 0;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(words(rest));
            for part in word.as_bytes().chunks(MAX_WORD_BYTES) {
                tokens += merged(ranks, part) as u64;
            }
            rest = after;
        }
        tokens
    }
}

fn unpack(packed: &[u8], tokens: usize) -> Ranks {
    let mut data = Vec::new();
    // What is built in can be read; a test does. Without tokens every byte counts as one.
    let _ = DeflateDecoder::new(packed).read_to_end(&mut data);
    let (lengths, mut bytes) = data.split_at(tokens.min(data.len()));
    let mut ranks = Ranks::with_capacity(tokens);
    for (rank, length) in (0..).zip(lengths) {
        let (token, rest) = bytes.split_at(usize::from(*length).min(bytes.len()));
        ranks.insert(token.into(), rank);
        bytes = rest;
    }
    ranks
}

/// How many tokens a word is: of all neighbours the pair with the lowest rank is joined, until none is a token.
fn merged(ranks: &Ranks, word: &[u8]) -> usize {
    if ranks.contains_key(word) {
        return 1;
    }
    // Where each part begins, and the rank that it would have together with the next one.
    let mut parts: Vec<(usize, Option<u32>)> = (0..=word.len()).map(|start| (start, None)).collect();
    let rank = |parts: &[(usize, Option<u32>)], at: usize| {
        let end = parts.get(at + 2)?.0;
        ranks.get(&word[parts[at].0..end]).copied()
    };
    for at in 0..parts.len() {
        parts[at].1 = rank(&parts, at);
    }
    let lowest = |parts: &[(usize, Option<u32>)]| {
        let ranked = parts
            .iter()
            .enumerate()
            .filter_map(|(at, (_, rank))| Some((rank.as_ref()?, at)));
        ranked.min().map(|(_, at)| at)
    };
    while let Some(at) = lowest(&parts) {
        parts.remove(at + 1);
        parts[at].1 = rank(&parts, at);
        if let Some(before) = at.checked_sub(1) {
            parts[before].1 = rank(&parts, before);
        }
    }
    parts.len() - 1
}
