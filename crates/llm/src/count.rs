//! How many tokens a request is, from whoever knows it best: the model's server, its tokenizer, an estimate.

use std::time::Duration;

use deft_types::Tokens;
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::api::Post;
use crate::tokenizer::Tokenizer;
use crate::{Request, tokens};

/// How long a server may take to count.
pub(crate) const COUNT_TIMEOUT: Duration = Duration::from_secs(20);

/// How many tokens a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCount {
    /// How many: never zero for a request that says anything.
    pub tokens: Tokens,
    /// Who counted.
    pub source: CountSource,
}

/// Who counted tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountSource {
    /// The model's server: exact.
    Server,
    /// The model's own tokenizer, here: the texts are exact, what stands around them is not.
    Tokenizer,
    /// Nobody: it is estimated by the kind of characters.
    Estimate,
}

/// A question to a server how many tokens a request is.
pub(crate) struct Question {
    pub(crate) post: Post,
    /// What its answer means.
    pub(crate) read: Box<dyn FnOnce(&Value) -> Answer + Send>,
}

/// What a server's answer means.
pub(crate) enum Answer {
    Tokens(u64),
    /// The server counts in two steps.
    Ask(Box<Question>),
    /// Nothing.
    None,
}

impl Question {
    /// A question whose answer is a number at this place of a JSON document.
    pub(crate) fn new(post: Post, place: &'static str) -> Self {
        let read = move |answer: &Value| answer.pointer(place).and_then(Value::as_u64).into();
        Self {
            post,
            read: Box::new(read),
        }
    }
}

impl From<Option<u64>> for Answer {
    fn from(count: Option<u64>) -> Self {
        count.map_or(Self::None, Self::Tokens)
    }
}

/// Counts without asking anybody.
pub(crate) async fn count_here(model: String, request: Request) -> TokenCount {
    let estimate = TokenCount {
        tokens: tokens::estimate(&request),
        source: CountSource::Estimate,
    };
    let Some(tokenizer) = Tokenizer::of_model(&model) else {
        return estimate;
    };
    // Unpacking a vocabulary and counting a long history take a while.
    let counted = spawn_blocking(move || tokens::tokenized(&request, tokenizer)).await;
    counted.map_or(estimate, |tokens| TokenCount {
        tokens,
        source: CountSource::Tokenizer,
    })
}
