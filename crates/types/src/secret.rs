//! A value that cannot be shown by accident.

use std::fmt;

use serde::{Deserialize, Deserializer};

/// Holds a secret. It has no `Display` and no `Serialize`, and `Debug` prints asterisks: the only way to
/// the value is [`Secret::expose`], which is easy to search for.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself: for the one place that sends it where it belongs.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("**********")
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_of_a_secret_and_of_what_holds_it_shows_no_value() {
        #[derive(Debug)]
        struct Holder {
            #[expect(dead_code)]
            key: Secret<String>,
        }
        let holder = Holder {
            key: Secret::new("sk-very-secret".to_owned()),
        };
        assert!(!format!("{holder:?}").contains("sk-very"));
    }
}
