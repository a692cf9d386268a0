//! Random input for parsers, the same in every run.

/// How many inputs a parser is tried with: a fraction of a second each.
pub(crate) const ROUNDS: u64 = 5_000;

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
    pub(crate) fn text(&mut self, fragments: &[&str]) -> Vec<u8> {
        let mut text = Vec::new();
        for _ in 0..self.below(30) {
            match self.below(8) {
                0 => text.push(self.next().to_le_bytes()[0]),
                _ => text.extend_from_slice(fragments[self.below(fragments.len())].as_bytes()),
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
