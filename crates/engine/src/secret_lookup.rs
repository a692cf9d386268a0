//! Secrets of a conversation: those whose values we have, and those that somebody else keeps.

use std::collections::BTreeSet;
use std::sync::Arc;

use deft_tools::SecretSet;
use deft_types::Secret;
use futures::future::BoxFuture;

/// Where the secrets of a conversation come from.
#[derive(Clone, Default)]
pub struct SecretSources {
    /// Those that are there.
    pub values: SecretSet,
    /// Those that are to be asked for.
    pub lookup: Option<Arc<dyn SecretLookup>>,
}

impl SecretSources {
    /// Takes those of another in, under names that are not taken.
    pub(crate) fn add(&mut self, others: &Self) {
        for (name, value) in others.values.iter() {
            if self.values.iter().any(|(own, _)| own == name) {
                continue;
            }
            match self.values.with(name.to_owned(), value.clone()) {
                Ok(more) => self.values = more,
                Err(error) => tracing::warn!(name, %error, "a secret is left out"),
            }
        }
        if self.lookup.is_none() {
            self.lookup.clone_from(&others.lookup);
        }
    }

    /// What they are called, all of them.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let kept = self.lookup.as_ref().map(|keeper| keeper.names());
        let there = self.values.iter().map(|(name, _)| name.to_owned());
        there.chain(kept.into_iter().flatten()).collect()
    }
}

/// Somebody who keeps secrets, and is asked for one when a command names it.
pub trait SecretLookup: Send + Sync {
    /// The names of them.
    fn names(&self) -> Vec<String>;

    /// The value of one. The sentence of a failure has nothing secret in it.
    fn look_up(&self, name: &str) -> BoxFuture<'static, Result<Secret<String>, String>>;
}
