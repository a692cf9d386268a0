//! The secrets a workspace may use: given to commands that name them, hidden in everything that is told.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use deft_types::Secret;

use crate::Mask;

/// How many secrets there may be.
const COUNT_LIMIT: usize = 256;
/// How many bytes their values may have together: each is looked for in several forms.
const SIZE_LIMIT: usize = 64 * 1024;

/// Secrets by name, few and short enough to be looked for in every output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretSet(BTreeMap<String, Secret<String>>);

/// There are more secrets than can be looked for.
#[derive(Debug, thiserror::Error)]
#[error(
    "these are too many secrets: at most {COUNT_LIMIT}, with values of {SIZE_LIMIT} bytes in all, can be kept out of \
     outputs; give the workspace fewer of them"
)]
pub struct TooManySecrets;

impl SecretSet {
    /// A set of secrets by name.
    pub fn new(secrets: BTreeMap<String, Secret<String>>) -> Result<Self, TooManySecrets> {
        let size: usize = secrets.values().map(|value| value.expose().len()).sum();
        if secrets.len() > COUNT_LIMIT || size > SIZE_LIMIT {
            return Err(TooManySecrets);
        }
        Ok(Self(secrets))
    }

    /// The same with another one, or with another value.
    pub fn with(&self, name: String, value: Secret<String>) -> Result<Self, TooManySecrets> {
        let mut secrets = self.0.clone();
        secrets.insert(name, value);
        Self::new(secrets)
    }

    /// Each secret with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret<String>)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// The secrets of a toolbox, shared by all that run or report something. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Arc<RwLock<Known>>);

#[derive(Debug, Default)]
struct Known {
    set: SecretSet,
    /// Values that were replaced: they may still stand in files and outputs. The oldest goes first when there are too many.
    former: VecDeque<Secret<String>>,
    mask: Arc<Mask>,
}

impl Known {
    fn replace(&mut self, set: SecretSet) {
        let before = std::mem::replace(&mut self.set, set);
        let is_current = |value: &Secret<String>| self.set.0.values().any(|current| current == value);
        let replaced = before.0.into_values();
        self.former.extend(replaced.filter(|value| !is_current(value)));
        self.former.retain(|value| !is_current(value));
        let size = |value: &Secret<String>| value.expose().len();
        while self.former.len() > COUNT_LIMIT || self.former.iter().map(size).sum::<usize>() > SIZE_LIMIT {
            self.former.pop_front();
        }
        let values = self.set.0.values().chain(&self.former);
        self.mask = Arc::new(Mask::of(values.map(|value| value.expose().as_str())));
    }
}

impl Secrets {
    /// Replaces all secrets by others. Those that were are hidden as before.
    pub fn set(&self, set: SecretSet) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.replace(set);
    }

    /// What hides them.
    pub fn mask(&self) -> Arc<Mask> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&known.mask)
    }

    /// All whose names could be names of variables.
    pub fn variables(&self) -> Vec<(String, Secret<String>)> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let named = known.set.iter().filter(|(name, _)| is_variable(name));
        named
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect()
    }

    /// The secrets whose names stand in a text as words of their own, and could be names of variables.
    pub(crate) fn named_in(&self, text: &str) -> Vec<(String, Secret<String>)> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let named = known.set.iter().filter(|(name, _)| names_secret(text, name));
        named
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect()
    }
}

/// Whether a text names a secret: as a word of its own, by a name that could be a variable's.
pub fn names_secret(text: &str, name: &str) -> bool {
    is_variable(name) && has_word(text, name)
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(is_word_character)
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

fn is_word_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_word_character) && !text[at + word.len()..].starts_with(is_word_character)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[(&str, &str)]) -> SecretSet {
        let entries = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Secret::new((*value).to_owned())));
        SecretSet::new(entries.collect()).unwrap()
    }

    #[test]
    fn a_secret_is_named_by_its_exact_name_only() {
        let all = Secrets::default();
        all.set(secrets(&[("TOKEN", "v1"), ("A-B", "v2"), ("MY_TOKEN", "v3")]));
        let named = |text: &str| {
            all.named_in(text)
                .into_iter()
                .map(|(name, _)| name)
                .collect::<Vec<_>>()
        };
        for text in [
            "echo $TOKEN",
            "echo ${TOKEN}",
            "curl -H \"Bearer $TOKEN\"",
            "env TOKEN",
            "x=${TOKEN:?}",
        ] {
            assert_eq!(named(text), ["TOKEN"], "{text}");
        }
        for text in ["echo $TOKENS", "echo token", "echo A-B", "X_TOKEN=1", "TOKEN2"] {
            assert_eq!(named(text), [""; 0], "{text}");
        }
        assert_eq!(named("$MY_TOKEN"), ["MY_TOKEN"]);
    }

    #[test]
    fn a_value_that_was_replaced_is_still_hidden_and_given_to_nobody() {
        let all = Secrets::default();
        for value in ["first-value", "second-value", "first-value"] {
            all.set(secrets(&[("TOKEN", value)]));
        }
        let hidden = all.mask().hide("first-value second-value").into_owned();
        assert!(!hidden.contains("value"), "{hidden}");
        assert_eq!(all.variables().len(), 1);
        for number in 0..COUNT_LIMIT + 8 {
            all.set(secrets(&[("TOKEN", &format!("number-{number}"))]));
        }
        assert_eq!(all.0.read().unwrap().former.len(), COUNT_LIMIT);
    }

    #[test]
    fn values_are_in_no_debug_output_and_too_many_are_refused() {
        let all = Secrets::default();
        all.set(secrets(&[("TOKEN", "very-secret")]));
        assert!(!format!("{all:?}").contains("very-secret"));
        let many = (0..=COUNT_LIMIT).map(|number| (number.to_string(), Secret::new(String::new())));
        assert!(SecretSet::new(many.collect()).is_err());
        let large = BTreeMap::from([("A".to_owned(), Secret::new("x".repeat(SIZE_LIMIT + 1)))]);
        assert!(SecretSet::new(large).is_err());
    }
}
