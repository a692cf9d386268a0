//! The OpenAI chat API, which most servers speak.

mod body;
mod chunk;
mod reader;
mod signatures;

use self::reader::ReplyReader;
use crate::api::{AnswerReader, Api, Post};
use crate::openai::Endpoint;
use crate::{ModelError, Request};

/// The OpenAI chat API, set up for one model.
pub(crate) struct ChatApi(pub(crate) Endpoint);

impl Api for ChatApi {
    fn post(&self, request: &Request) -> Result<Post, ModelError> {
        self.0.post(&body::of(&self.0, request))
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(ReplyReader::default())
    }
}
