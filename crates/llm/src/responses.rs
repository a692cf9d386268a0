//! The OpenAI Responses API, used without state on the server: each request carries the whole exchange, and what
//! the server must get back unaltered travels with it.

mod body;
mod event;
mod reader;
mod reasoning;

use self::reader::ReplyReader;
use crate::api::{AnswerReader, Api, Post};
use crate::count::Question;
use crate::openai::Endpoint;
use crate::{ModelError, Request};

/// The OpenAI Responses API, set up for one model.
pub(crate) struct ResponsesApi(pub(crate) Endpoint);

impl Api for ResponsesApi {
    fn post(&self, request: &Request) -> Result<Post, ModelError> {
        self.0.post(&body::of(&self.0, request))
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(ReplyReader::default())
    }

    fn count(&self, request: &Request) -> Option<Question> {
        let post = self.post(request).ok()?;
        let fields = post.fields(&["model", "instructions", "input", "tools", "reasoning"])?;
        let mut url = post.url.clone();
        url.set_path(&format!("{}/input_tokens", url.path()));
        Some(Question::new(post.to(url, &fields.into()), "/input_tokens"))
    }
}
