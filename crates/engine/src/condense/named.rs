//! Condensers by the names that people write in their settings.

use std::fmt;
use std::str::FromStr;

use super::{Condenser, Summary};

/// Each with the condenser that it stands for.
const NAMES: [(&str, fn() -> Condenser); 8] = [
    ("none", || Condenser::Pipeline(Vec::new())),
    ("mask", || Condenser::MaskResults),
    ("mask_browser", || Condenser::MaskBrowser { keep: 1 }),
    ("recent", || Condenser::RecentEvents {
        keep_first: 2,
        max_events: 240,
    }),
    ("amortized", || Condenser::Amortized {
        keep_first: 2,
        max_events: 240,
    }),
    ("window", || Condenser::Window),
    ("summary", || summary(false)),
    ("structured_summary", || summary(true)),
];

/// No condenser is called so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCondenser(String);

impl fmt::Display for UnknownCondenser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = NAMES.map(|(name, _)| name).join(", ");
        write!(f, "no condenser is called {:?}; there are {known}", self.0)
    }
}

impl std::error::Error for UnknownCondenser {}

impl FromStr for Condenser {
    type Err = UnknownCondenser;

    /// One of them, or several with commas between: the first of them that can do something does it.
    fn from_str(text: &str) -> Result<Self, UnknownCondenser> {
        let one = |name: &str| {
            let name = name.trim();
            let known = NAMES.iter().find(|(known, _)| *known == name);
            known
                .map(|(_, condenser)| condenser())
                .ok_or_else(|| UnknownCondenser(name.to_owned()))
        };
        match text.split_once(',') {
            None => one(text),
            Some(_) => Ok(Self::Pipeline(
                text.split(',').map(one).collect::<Result<_, _>>()?,
            )),
        }
    }
}

fn summary(structured: bool) -> Condenser {
    Condenser::Summary(Summary {
        keep_first: 2,
        max_events: None,
        max_tokens: None,
        structured,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_condensers_and_several_for_a_pipeline() {
        assert_eq!("window".parse(), Ok(Condenser::Window));
        assert_eq!("mask, structured_summary".parse(), Ok(Condenser::default()));
        assert_eq!("none".parse(), Ok(Condenser::Pipeline(Vec::new())));
        let unknown = "mask,magic".parse::<Condenser>().unwrap_err().to_string();
        assert!(
            unknown.contains("\"magic\"") && unknown.contains("amortized"),
            "{unknown}"
        );
    }
}
