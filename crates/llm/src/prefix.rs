//! Whether a request begins with what the provider has in its cache, and if not, why.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use deft_types::{Role, Tokens};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::{Delta, Model, ModelError, ModelProfile, Request, TokenCount};

/// How many conversations are watched; the one that was quiet for longest is forgotten first.
const MAX_WATCHED: usize = 256;

/// Why the provider's cache did not help as much as it did before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixChange {
    /// Another model answers.
    Model {
        /// Who did before.
        before: String,
    },
    /// Other tools are declared.
    Tools,
    /// The instructions are others.
    Instructions,
    /// A message is not what it was.
    Message {
        /// Which of them, from 1.
        number: usize,
        /// How many there were.
        of: usize,
    },
    /// The provider had nothing of it, and the last request was made by another process: what changed since, if
    /// anything did, cannot be known.
    Unwatched,
    /// The request begins as the last one did, and the provider has less of it than it had.
    Forgotten {
        /// Cached tokens of the last request.
        before: Tokens,
        /// Those of this one.
        now: Tokens,
    },
}

impl fmt::Display for PrefixChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { before } => write!(f, "the model is no longer {before}"),
            Self::Tools => f.write_str("the tools changed"),
            Self::Instructions => f.write_str("the instructions changed"),
            Self::Message { number, of } => write!(f, "message {number} of {of} changed"),
            Self::Unwatched => {
                f.write_str("the last request was made before this process began, so why is not known")
            }
            Self::Forgotten { before, now } => {
                write!(f, "the provider kept {} of {} cached tokens", now.0, before.0)
            }
        }
    }
}

/// What a request is made of: a hash of each part, in the order in which providers cache them.
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    model: String,
    tools: u64,
    messages: Vec<(Role, u64)>,
}

impl Shape {
    fn of(model: &str, request: &Request) -> Self {
        let messages = request.messages.iter();
        Self {
            model: model.to_owned(),
            tools: fingerprint(&request.tools),
            messages: messages
                .map(|message| (message.role, fingerprint(message)))
                .collect(),
        }
    }

    /// Where this one departs from the last, if it does. Being longer or shorter is no change.
    fn change_since(&self, last: &Self) -> Option<PrefixChange> {
        if self.model != last.model {
            let before = last.model.clone();
            return Some(PrefixChange::Model { before });
        }
        if self.tools != last.tools {
            return Some(PrefixChange::Tools);
        }
        let mut pairs = self.messages.iter().zip(&last.messages);
        let at = pairs.position(|(now, before)| now != before)?;
        Some(match last.messages[at].0 {
            Role::System => PrefixChange::Instructions,
            Role::User | Role::Assistant | Role::Tool => PrefixChange::Message {
                number: at + 1,
                of: last.messages.len(),
            },
        })
    }
}

fn fingerprint(part: &impl Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(part).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// The last request of each conversation, whichever model it went to.
#[derive(Clone, Debug, Default)]
pub struct PrefixWatch(Arc<Mutex<VecDeque<(String, Last)>>>);

#[derive(Clone, Debug)]
struct Last {
    shape: Shape,
    cached: Tokens,
    /// Whether its provider tells what it has in its cache.
    keeps: bool,
}

impl Last {
    /// Whether a request came before this one, of which the provider should have kept something: it is told what to
    /// keep, or finds it by a key.
    fn is_orphan(&self) -> bool {
        let answered = |(role, _): &(Role, u64)| *role == Role::Assistant;
        self.keeps && self.cached == Tokens::ZERO && self.shape.messages.iter().any(answered)
    }
}

impl PrefixWatch {
    /// The same model; before the end of a reply it says by [`Delta::Prefix`] why the cache helped less, if it did.
    pub(crate) fn over(&self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(Watched {
            model,
            watch: self.clone(),
        })
    }

    /// Compares an answered request with the last one of its conversation, and remembers it instead.
    fn compare(&self, conversation: String, now: Last) -> Option<PrefixChange> {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = watched.iter().position(|(known, _)| *known == conversation);
        let last = at.and_then(|at| watched.remove(at)).map(|(_, last)| last);
        let change = match last {
            Some(last) => {
                let forgotten = (now.cached < last.cached).then_some(PrefixChange::Forgotten {
                    before: last.cached,
                    now: now.cached,
                });
                now.shape.change_since(&last.shape).or(forgotten)
            }
            None => now.is_orphan().then_some(PrefixChange::Unwatched),
        };
        if watched.len() == MAX_WATCHED {
            watched.pop_front();
        }
        watched.push_back((conversation, now));
        change
    }
}

struct Watched {
    model: Arc<dyn Model>,
    watch: PrefixWatch,
}

impl Model for Watched {
    fn profile(&self) -> &ModelProfile {
        self.model.profile()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let Some(conversation) = request.cache_key.clone() else {
            return self.model.stream(request);
        };
        let (model, watch) = (Arc::clone(&self.model), self.watch.clone());
        Box::pin(async_stream::try_stream! {
            let shape = Shape::of(&model.profile().name, &request);
            let can = model.profile().capabilities;
            let keeps = can.explicit_cache_markers || can.prompt_cache_key;
            let mut last = Last { shape, cached: Tokens::ZERO, keeps };
            let mut deltas = model.stream(request);
            while let Some(delta) = deltas.next().await {
                let delta = delta?;
                match &delta {
                    Delta::Usage(usage) => last.cached = usage.cache_read,
                    Delta::Finished(_) => {
                        if let Some(change) = watch.compare(conversation.clone(), last.clone()) {
                            yield Delta::Prefix(change);
                        }
                    }
                    _ => {}
                }
                yield delta;
            }
        })
    }

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        self.model.count(request)
    }
}
