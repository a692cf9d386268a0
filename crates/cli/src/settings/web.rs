//! The type of the setting for what tools reach on the web.

use std::str::FromStr;

use deft_browse::Addresses;
use serde_json::json;

use super::value::{Place, Shape, Shown, Value};

/// What `fetch` and pages in the browser may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WebAddresses(Addresses);

impl WebAddresses {
    /// As the tools know it.
    pub(crate) fn addresses(self) -> Addresses {
        self.0
    }

    /// As people write it.
    pub(crate) fn name(self) -> &'static str {
        let known = Addresses::NAMES
            .iter()
            .find(|(_, addresses)| *addresses == self.0);
        known.map_or("public", |(name, _)| name)
    }
}

impl FromStr for WebAddresses {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Addresses::named(text).map(Self).ok_or(Self::EXPECTED)
    }
}

impl Value for WebAddresses {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = "public, loopback or all";

    fn read(text: &str, _: &Place) -> Option<Self> {
        text.trim().parse().ok()
    }

    fn shown(&self) -> Shown {
        json!(self.name())
    }
}
