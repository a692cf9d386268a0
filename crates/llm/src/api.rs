//! What a provider's wire format is to the rest of the crate: a request to send, and a reader for the answer.

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{Map, Value};

use crate::count::Question;
use crate::{Delta, ModelError, Request, Usage};

/// One wire format, set up for one model. Everything about connections is the transport's.
pub(crate) trait Api: Send + Sync {
    /// The HTTP request that asks this. Secret headers are marked as sensitive.
    fn post(&self, request: &Request) -> Result<Post, ModelError>;

    /// A reader for the answer.
    fn reader(&self) -> Box<dyn AnswerReader>;

    /// The HTTP request that counts the tokens of this; `None`: the server does not count.
    fn count(&self, request: &Request) -> Option<Question> {
        let _ = request;
        None
    }
}

/// An HTTP request with a JSON body.
pub(crate) struct Post {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Post {
    /// The fields of its body that have these names: counting takes fewer than answering.
    pub(crate) fn fields(&self, names: &[&str]) -> Option<Map<String, Value>> {
        let mut body: Map<String, Value> = serde_json::from_slice(&self.body).ok()?;
        body.retain(|name, _| names.contains(&name.as_str()));
        Some(body)
    }

    /// The same request with another body to another address.
    pub(crate) fn to(self, url: Url, body: &Value) -> Self {
        Self {
            url,
            body: body.to_string().into_bytes(),
            ..self
        }
    }
}

/// Makes deltas of the bytes of an answer, which may be cut anywhere.
pub(crate) trait AnswerReader: Send {
    /// Takes the next bytes; returns the deltas that they complete.
    fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, ModelError>;

    /// The last deltas, once there are no more bytes. The very last is [`Delta::Finished`].
    fn finish(&mut self) -> Result<Vec<Delta>, ModelError>;

    /// What the reply has used so far, where the provider has said so.
    fn usage(&self) -> Option<Usage>;

    /// Whether the reply itself has come to its end; bookkeeping may follow.
    fn is_whole(&self) -> bool;

    /// Whether nothing follows any more.
    fn is_done(&self) -> bool;
}

/// A header that nobody logs.
pub(crate) fn secret_header(text: &str) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| ModelError::Authentication {
        detail: "the key has characters that cannot be sent".to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// An answer that ended before the reply did.
pub(crate) fn broken_off() -> ModelError {
    ModelError::Network {
        detail: "the answer broke off before its end".to_owned(),
    }
}
