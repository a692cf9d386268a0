//! US dollars, exact to a millionth of a millionth.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Tokens;

/// Digits after the point: providers price single tokens with as many.
const DIGITS: i64 = 12;

/// One dollar.
const DOLLAR: i128 = 10_i128.pow(12);

/// A number with more digits than this before its point is no amount of money.
const MAX_WHOLE_DIGITS: i64 = 20;

/// US dollars as a whole number of picodollars, so that sums and products are exact. On the wire a plain
/// number of dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(i128);

/// A text or number that is no amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadMoney;

impl std::error::Error for BadMoney {}

impl fmt::Display for BadMoney {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a number of dollars below 10^{MAX_WHOLE_DIGITS}")
    }
}

impl Money {
    /// Nothing spent.
    pub const ZERO: Self = Self(0);

    /// A whole number of picodollars.
    pub const fn from_picodollars(picodollars: i128) -> Self {
        Self(picodollars)
    }

    /// In millionths of a millionth of a dollar.
    pub const fn as_picodollars(self) -> i128 {
        self.0
    }

    /// The nearest floating-point number of dollars, for formats that have nothing better.
    pub fn as_dollars(self) -> f64 {
        // Through text, because that rounds once and correctly.
        self.decimal().parse().unwrap_or_default()
    }

    /// Whether it is nothing at all.
    #[allow(clippy::trivially_copy_pass_by_ref)] // as serde asks
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    fn decimal(self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        let dollar = DOLLAR.unsigned_abs();
        format!("{sign}{}.{:012}", magnitude / dollar, magnitude % dollar)
    }
}

/// The amount that a floating-point number is meant to be: its shortest decimal form.
impl TryFrom<f64> for Money {
    type Error = BadMoney;

    fn try_from(dollars: f64) -> Result<Self, BadMoney> {
        dollars.to_string().parse()
    }
}

/// Reads decimal text such as `0.25` or `3e-06`. Digits beyond the last that counts are rounded.
impl FromStr for Money {
    type Err = BadMoney;

    fn from_str(text: &str) -> Result<Self, BadMoney> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| BadMoney)?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(BadMoney);
        }
        let Some(first) = digits.iter().position(|digit| *digit != b'0') else {
            return Ok(Self::ZERO);
        };
        // The digits that count: from the first that is not zero to the last of a picodollar.
        let first = i64::try_from(first).map_err(|_| BadMoney)?;
        let end = i64::try_from(whole.len()).map_err(|_| BadMoney)? + DIGITS + i64::from(exponent);
        if end - first > MAX_WHOLE_DIGITS + DIGITS {
            return Err(BadMoney);
        }
        let digit = |index: i64| {
            let digit = usize::try_from(index).ok().and_then(|index| digits.get(index));
            digit.map_or(0, |digit| i128::from(digit - b'0'))
        };
        let mut amount = (first..end).fold(0, |amount, index| amount * 10 + digit(index));
        if digit(end) >= 5 {
            amount += 1;
        }
        Ok(Self(if negative { -amount } else { amount }))
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_dollars())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Money {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// The price of a token, times tokens.
impl Mul<Tokens> for Money {
    type Output = Self;
    fn mul(self, tokens: Tokens) -> Self {
        Self(self.0.saturating_mul(i128::from(tokens.0)))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Below ten cents four digits tell more than a row of zeros.
        let digits = if self.0 != 0 && self.0.abs() < DOLLAR / 10 {
            4
        } else {
            2
        };
        write!(f, "${:.digits$}", self.as_dollars())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(text: &str) -> Money {
        text.parse().unwrap()
    }

    #[test]
    fn text_is_read_exactly() {
        let cases = [
            ("0", 0),
            ("1", DOLLAR),
            ("-0.5", -DOLLAR / 2),
            (".5", DOLLAR / 2),
            ("5.", 5 * DOLLAR),
            ("3e-06", 3_000_000),
            ("1.25E-7", 125_000),
            ("2.5e3", 2_500 * DOLLAR),
            ("0.000000000001", 1),
            ("0.0000000000015", 2),
            ("0.0000000000014", 1),
            ("1e-13", 0),
            ("9e-13", 1),
            ("1e-400", 0),
            ("0e2000000000", 0),
            ("000000000000000000000000000000001", DOLLAR),
            ("0.000015000020000000002", 15_000_020),
        ];
        for (text, picodollars) in cases {
            assert_eq!(text.parse(), Ok(Money(picodollars)), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "", "-", ".", "e5", "1e", "1.2.3", "$1", "inf", "NaN", "1e30", "--1", "1_0", "١",
        ] {
            assert_eq!(text.parse::<Money>(), Err(BadMoney), "{text}");
        }
        for number in [f64::NAN, f64::INFINITY, f64::MAX] {
            assert_eq!(Money::try_from(number), Err(BadMoney));
        }
    }

    #[test]
    fn a_million_small_amounts_add_up_exactly() {
        let total: Money = std::iter::repeat_n(money("0.0000001"), 1_000_000).sum();
        assert_eq!(total, money("0.1"));
        assert_eq!(money("0.0000001") * Tokens(1_000_000), total);
        assert_eq!(money("0.3") - money("0.2"), money("0.1"));
    }

    #[test]
    fn the_wire_has_plain_numbers_and_they_come_back() {
        for (text, wire) in [
            ("0", "0.0"),
            ("0.25", "0.25"),
            ("1.000000000001", "1.000000000001"),
            ("-3", "-3.0"),
        ] {
            assert_eq!(serde_json::to_string(&money(text)).unwrap(), wire);
            assert_eq!(serde_json::from_str::<Money>(wire).unwrap(), money(text));
        }
        assert_eq!(serde_json::from_str::<Money>("2").unwrap(), money("2"));
        assert!(serde_json::from_str::<Money>("1e300").is_err());
    }

    #[test]
    fn small_amounts_are_shown_with_more_digits() {
        let cases = [
            ("0", "$0.00"),
            ("0.0012", "$0.0012"),
            ("0.0999", "$0.0999"),
            ("0.1", "$0.10"),
            ("12.345", "$12.35"),
        ];
        for (text, shown) in cases {
            assert_eq!(money(text).to_string(), shown, "{text}");
        }
    }
}
