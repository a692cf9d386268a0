//! The types that settings have: how each is read from text and shown again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use deft_engine::Condenser;
use deft_skills::Permission;
use deft_types::{Money, Secret};
use serde_json::json;

/// A setting's value as it is shown: JSON, `null` where it is not set.
pub(super) type Shown = serde_json::Value;

/// The longest time a setting may name: a week.
const MAX_SECONDS: f64 = 7.0 * 24.0 * 3600.0;

/// A type that a setting can have.
pub(super) trait Value: Sized {
    /// What `deft.toml` must hold.
    const SHAPE: Shape;
    /// What a text must be, for people: "must be …".
    const EXPECTED: &'static str;
    /// Whether an error may quote a text that could not be read.
    const SECRECY: Secrecy = Secrecy::Open;

    /// Reads a text; nothing if it is not [`Self::EXPECTED`].
    fn read(text: &str, place: &Place) -> Option<Self>;
    /// As [`Self::read`] takes it, or masked.
    fn shown(&self) -> Shown;
    /// The value where nobody set one, for types that have such a value.
    fn unset() -> Option<Self> {
        None
    }
}

/// What relative paths and `~` in a text refer to.
pub(super) struct Place<'a> {
    pub(super) home: Option<&'a Path>,
    pub(super) base: &'a Path,
}

/// The TOML types that settings have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Number,
}

/// Whether an error may quote a text that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrecy {
    Open,
    Secret,
}

impl Secrecy {
    /// A text in quotes, or what stands for it.
    pub(super) fn quote(self, text: &str) -> String {
        match self {
            Self::Open => format!("{text:?}"),
            Self::Secret => "a value that is not shown here".to_owned(),
        }
    }
}

impl<T: Value> Value for Option<T> {
    const SHAPE: Shape = T::SHAPE;
    const EXPECTED: &'static str = T::EXPECTED;
    const SECRECY: Secrecy = T::SECRECY;

    fn read(text: &str, place: &Place) -> Option<Self> {
        T::read(text, place).map(Some)
    }

    fn shown(&self) -> Shown {
        self.as_ref().map_or(Shown::Null, T::shown)
    }

    fn unset() -> Option<Self> {
        Some(None)
    }
}

impl Value for String {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = "text on one line";

    fn read(text: &str, _: &Place) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
    }

    fn shown(&self) -> Shown {
        json!(self)
    }
}

impl Value for Secret<String> {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = String::EXPECTED;
    const SECRECY: Secrecy = Secrecy::Secret;

    fn read(text: &str, place: &Place) -> Option<Self> {
        String::read(text, place).map(Secret::new)
    }

    fn shown(&self) -> Shown {
        json!(format!("{self:?}"))
    }
}

/// The address of a model's server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaseUrl(String);

impl BaseUrl {
    /// The address as text, without a slash at its end.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> serde::Deserialize<'de> for BaseUrl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let nowhere = Place {
            home: None,
            base: Path::new(""),
        };
        Self::read(&text, &nowhere)
            .ok_or_else(|| serde::de::Error::custom(format!("base_url must be {}", Self::EXPECTED)))
    }
}

impl Value for BaseUrl {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str =
        "an address that starts with http:// or https:// and holds no user name or password";
    // It may hold a password all the same.
    const SECRECY: Secrecy = Secrecy::Secret;

    fn read(text: &str, place: &Place) -> Option<Self> {
        let text = String::read(text, place)?;
        let rest = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"))?;
        let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let is_plain = !host.is_empty() && !host.contains('@') && !rest.contains(char::is_whitespace);
        is_plain.then(|| Self(text.trim_end_matches('/').to_owned()))
    }

    fn shown(&self) -> Shown {
        json!(self.0)
    }
}

/// How the memory of an agent is kept short, as people write it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CondenserKind {
    written: String,
    pub(crate) condenser: Condenser,
}

impl Value for CondenserKind {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = "none, mask, mask_browser, recent, amortized, window, summary or structured_summary, or \
        several of them with commas between";

    fn read(text: &str, _: &Place) -> Option<Self> {
        Some(Self {
            condenser: text.parse().ok()?,
            written: text.to_owned(),
        })
    }

    fn shown(&self) -> Shown {
        json!(self.written)
    }
}

impl Value for PathBuf {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = "a path, absolute or below ~";

    fn read(text: &str, place: &Place) -> Option<Self> {
        if text.is_empty() || text.contains(char::is_control) {
            return None;
        }
        match text.strip_prefix('~') {
            Some("") => place.home.map(Path::to_owned),
            Some(rest) if rest.starts_with('/') => {
                place.home.map(|home| home.join(rest.trim_start_matches('/')))
            }
            Some(_) | None => Some(place.base.join(text)),
        }
    }

    fn shown(&self) -> Shown {
        json!(self.to_string_lossy())
    }
}

impl Value for u64 {
    const SHAPE: Shape = Shape::Number;
    const EXPECTED: &'static str = "a whole number from 1";

    fn read(text: &str, _: &Place) -> Option<Self> {
        text.trim().parse().ok().filter(|number| *number >= 1)
    }

    fn shown(&self) -> Shown {
        json!(self)
    }
}

impl Value for Money {
    const SHAPE: Shape = Shape::Number;
    const EXPECTED: &'static str = "US dollars above 0, such as 2.50";

    fn read(text: &str, _: &Place) -> Option<Self> {
        text.trim().parse().ok().filter(|dollars| *dollars > Self::ZERO)
    }

    fn shown(&self) -> Shown {
        json!(self)
    }
}

impl Value for Duration {
    const SHAPE: Shape = Shape::Number;
    const EXPECTED: &'static str = "seconds, more than 0 and at most a week (604800)";

    fn read(text: &str, _: &Place) -> Option<Self> {
        let seconds: f64 = text.trim().parse().ok()?;
        let is_sensible = seconds > 0.0 && seconds <= MAX_SECONDS;
        is_sensible
            .then(|| Self::try_from_secs_f64(seconds).ok())
            .flatten()
    }

    fn shown(&self) -> Shown {
        if self.subsec_nanos() == 0 {
            json!(self.as_secs())
        } else {
            json!(self.as_secs_f64())
        }
    }
}

/// What a stored event survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The end of every process of ours.
    Process,
    /// A power cut too.
    Fsync,
}

impl Value for Permission {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = "never, risky or always";

    fn read(text: &str, _: &Place) -> Option<Self> {
        match text.trim() {
            "never" => Some(Self::NeverConfirm),
            "risky" => Some(Self::ConfirmRisky),
            "always" => Some(Self::AlwaysConfirm),
            _ => None,
        }
    }

    fn shown(&self) -> Shown {
        match self {
            Self::NeverConfirm => json!("never"),
            Self::ConfirmRisky => json!("risky"),
            Self::AlwaysConfirm => json!("always"),
        }
    }
}

impl Value for Durability {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = "process or fsync";

    fn read(text: &str, _: &Place) -> Option<Self> {
        match text.trim() {
            "process" => Some(Self::Process),
            "fsync" => Some(Self::Fsync),
            _ => None,
        }
    }

    fn shown(&self) -> Shown {
        match self {
            Self::Process => json!("process"),
            Self::Fsync => json!("fsync"),
        }
    }
}
