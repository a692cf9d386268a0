//! Money and token counts: numbers that must not be mixed up.

mod money;

use std::fmt;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

pub use self::money::{BadMoney, Money};

/// A number of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl Tokens {
    /// None at all.
    pub const ZERO: Self = Self(0);
}

impl Add for Tokens {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[allow(clippy::cast_precision_loss)] // shown with one decimal
        match self.0 {
            0..1_000 => write!(f, "{}", self.0),
            1_000..1_000_000 => write!(f, "{:.1}k", self.0 as f64 / 1e3),
            _ => write!(f, "{:.1}M", self.0 as f64 / 1e6),
        }
    }
}
