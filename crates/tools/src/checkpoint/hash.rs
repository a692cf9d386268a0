//! What a content is known by.

use std::fmt;

use ring::digest::{SHA256, digest};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The SHA-256 of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hash([u8; 32]);

impl Hash {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
        Self(hash)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().map(Self).ok()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn parse(hex: &str) -> Option<Self> {
        let digits = hex.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 64 {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not a hash"))
    }
}
