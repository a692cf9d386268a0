//! A model that answers from a cassette.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use serde_json::Value;

use super::difference::Difference;
use super::{CassetteError, Exchange, question, read};
use crate::{Delta, Model, ModelError, ModelProfile, Request};

/// A model that answers from a cassette, each recorded reply once.
pub(crate) struct ReplayModel {
    profile: ModelProfile,
    tape: Arc<Tape>,
}

struct Tape {
    path: PathBuf,
    recorded: usize,
    /// What has not been played yet.
    left: Mutex<Vec<Exchange>>,
}

impl ReplayModel {
    /// `name` is the whole name that the user wrote.
    pub(crate) fn open(name: &str, path: &Path) -> Result<Self, CassetteError> {
        let (head, exchanges) = read(path)?;
        Ok(Self {
            profile: ModelProfile {
                name: name.to_owned(),
                ..head.profile
            },
            tape: Arc::new(Tape {
                path: path.to_owned(),
                recorded: exchanges.len(),
                left: Mutex::new(exchanges),
            }),
        })
    }
}

impl Model for ReplayModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let tape = Arc::clone(&self.tape);
        let reply = async move {
            let exchange = tape.play(&question(&request)?)?;
            let deltas = exchange.deltas.into_iter().map(Ok);
            Ok::<_, ModelError>(stream::iter(deltas.chain(exchange.error.map(Err))))
        };
        stream::once(reply).try_flatten().boxed()
    }
}

impl Tape {
    /// The next reply to this very request: calls that ran side by side may come in another order.
    fn play(&self, asked: &Value) -> Result<Exchange, ModelError> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = left.iter().position(|exchange| exchange.request == *asked) {
            return Ok(left.remove(index));
        }
        let path = self.path.display();
        let detail = match left.first() {
            None => format!(
                "all {} replies of the cassette {path} have been played",
                self.recorded
            ),
            Some(next) => {
                let number = self.recorded - left.len() + 1;
                let difference = Difference::between(&next.request, asked);
                format!("it differs from request {number} of the cassette {path} {difference}")
            }
        };
        Err(ModelError::BadRequest { detail })
    }
}
