//! Random input for parsers and readers, the same in every run.

use crate::api::AnswerReader;
use crate::{Delta, ModelError};

/// How many inputs a parser is tried with: a fraction of a second each.
pub(crate) const ROUNDS: u64 = 2_000;

/// A small random number generator (`SplitMix64`).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// Some of these in any order, and now and then a random byte.
    pub(crate) fn text(&mut self, fragments: &[impl AsRef<[u8]>]) -> Vec<u8> {
        let mut text = Vec::new();
        for _ in 0..self.below(30) {
            match self.below(8) {
                0 => text.push(self.next().to_le_bytes()[0]),
                _ => text.extend_from_slice(fragments[self.below(fragments.len())].as_ref()),
            }
        }
        text
    }

    /// The same bytes in pieces.
    pub(crate) fn cut<'a>(&mut self, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let length = (1 + self.below(12)).min(bytes.len());
            let (piece, rest) = bytes.split_at(length);
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }
}

/// What a new reader makes of an answer that comes in these pieces.
pub(crate) fn read_pieces<'a, R: AnswerReader + Default>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<Delta>, ModelError> {
    let mut reader = R::default();
    let mut deltas = Vec::new();
    for piece in pieces {
        if reader.is_done() {
            break;
        }
        deltas.extend(reader.feed(piece)?);
    }
    deltas.extend(reader.finish()?);
    Ok(deltas)
}

/// Tries a reader with random mixtures of these fragments. It must survive them all, and what it makes of one must
/// not depend on where it is cut.
pub(crate) fn try_reader<R: AnswerReader + Default>(fragments: &[impl AsRef<[u8]>]) {
    let mut whole_replies = 0;
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let bytes = random.text(fragments);
        let whole = read_pieces::<R>([bytes.as_slice()]);
        let pieces = read_pieces::<R>(random.cut(&bytes));
        assert_eq!(pieces, whole, "seed {seed}: {}", bytes.escape_ascii());
        whole_replies += usize::from(whole.is_ok());
    }
    assert!(
        whole_replies > 0,
        "no mixture is a reply: the fragments try nothing but errors"
    );
}

/// The data of events, and what servers and proxies put between them.
pub(crate) fn events(data: &[&str]) -> Vec<String> {
    let noise = [
        "data: ",
        "\n\n",
        "\n",
        "event: x\n",
        ": ping\n\n",
        "{",
        "}",
        "null",
        "\"",
        " ",
        "<html>",
    ];
    let events = data.iter().map(|data| format!("data: {data}\n\n"));
    events.chain(noise.map(str::to_owned)).collect()
}
