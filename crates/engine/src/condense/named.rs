//! Condensers by the names that people write in their settings.

use std::fmt;
use std::str::FromStr;

use super::{Condenser, Summary};

/// All of them.
const NAMES: &str = "none, mask, mask_browser, recent, amortized, window, summary, structured_summary";

/// No condenser is called so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCondenser(String);

impl fmt::Display for UnknownCondenser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no condenser is called {:?}; there are {NAMES}", self.0)
    }
}

impl std::error::Error for UnknownCondenser {}

impl FromStr for Condenser {
    type Err = UnknownCondenser;

    /// One of them, or several with commas between: the first of them that can do something does it.
    fn from_str(text: &str) -> Result<Self, UnknownCondenser> {
        let one = |name: &str| named(name.trim()).ok_or_else(|| UnknownCondenser(name.trim().to_owned()));
        match text.split_once(',') {
            None => one(text),
            Some(_) => Ok(Self::Pipeline(
                text.split(',').map(one).collect::<Result<_, _>>()?,
            )),
        }
    }
}

fn named(name: &str) -> Option<Condenser> {
    let (keep_first, max_events) = (2, 240);
    Some(match name {
        "none" => Condenser::Pipeline(Vec::new()),
        "mask" => Condenser::MaskResults,
        "mask_browser" => Condenser::MaskBrowser { keep: 1 },
        "recent" => Condenser::RecentEvents {
            keep_first,
            max_events,
        },
        "amortized" => Condenser::Amortized {
            keep_first,
            max_events,
        },
        "window" => Condenser::Window,
        "summary" => summary(false),
        "structured_summary" => summary(true),
        _ => return None,
    })
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
        for name in NAMES.split(", ") {
            assert!(name.parse::<Condenser>().is_ok(), "{name}");
        }
        let unknown = "mask,magic".parse::<Condenser>().unwrap_err().to_string();
        assert!(
            unknown.contains("\"magic\"") && unknown.contains("amortized"),
            "{unknown}"
        );
    }
}
