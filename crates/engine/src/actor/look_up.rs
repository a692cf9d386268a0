//! Asks for the secrets that a command names before it runs.

use std::time::{Duration, SystemTime};

use deft_types::Secret;
use futures::FutureExt;
use futures::future::join_all;

use super::Actor;
use super::work::{Outcome, Work};
use crate::state::OpenCall;

/// How long asking for a secret may take.
const LIMIT: Duration = Duration::from_secs(30);
/// How long a value is used before it is asked for again: tokens are renewed by whoever keeps them.
const KEPT: Duration = Duration::from_secs(5 * 60);
/// How long nobody is asked again who could not answer.
const REST: Duration = Duration::from_secs(60);

/// A secret that was asked for, and what came of it.
pub(crate) type LookedUp = (String, Result<Secret<String>, String>);

/// When a secret was last asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    at: SystemTime,
    was_there: bool,
}

impl Actor {
    /// Begins to ask for the secrets that calls name; whether it has.
    pub(super) fn look_up_secrets(&mut self, calls: &[OpenCall]) -> bool {
        self.look_up(|name| {
            let mut texts = calls.iter().map(|call| &call.event.tool_call.arguments);
            texts.any(|text| deft_tools::names_secret(text, name))
        })
    }

    /// Begins to ask for the secrets that are wanted and not known; whether it has.
    pub(super) fn look_up(&mut self, wanted: impl Fn(&str) -> bool) -> bool {
        let Some(lookup) = &self.outfit.secrets.lookup else {
            return false;
        };
        let now = self.world.now();
        let is_fresh = |name: &String| {
            self.asked_secrets.get(name).is_some_and(|asked| {
                let limit = if asked.was_there { KEPT } else { REST };
                now.duration_since(asked.at).is_ok_and(|age| age < limit)
            })
        };
        let asks: Vec<_> = lookup
            .names()
            .into_iter()
            .filter(|name| wanted(name) && !is_fresh(name))
            .map(|name| {
                let ask = tokio::time::timeout(LIMIT, lookup.look_up(&name));
                async move {
                    let value = ask.await.unwrap_or_else(|_| Err("nobody answers".to_owned()));
                    (name, value)
                }
            })
            .collect();
        if asks.is_empty() {
            return false;
        }
        self.work = Some(Work::LookUp {
            future: join_all(asks).map(Outcome::LookedUp).boxed(),
        });
        true
    }

    /// Gives tools what was found. A command whose secret is not to be had runs without, and says what it misses.
    pub(super) async fn take_secrets(&mut self, found: Vec<LookedUp>) {
        let mut values = self.outfit.secrets.values.clone();
        for (name, value) in found {
            let asked = Asked {
                at: self.world.now(),
                was_there: value.is_ok(),
            };
            match value {
                Ok(value) => match values.with(name.clone(), value) {
                    Ok(more) => values = more,
                    Err(error) => tracing::warn!(name, %error, "a secret is left out"),
                },
                Err(reason) => tracing::warn!(name, reason, "a secret could not be had"),
            }
            self.asked_secrets.insert(name, asked);
        }
        if let Some(client) = &self.executor {
            client.set_secrets(values.clone()).await;
        }
        self.secrets.set(values.clone());
        self.outfit.secrets.values = values;
    }
}
