//! The OpenAI chat API, which most servers speak.

mod body;
mod chunk;
mod reader;
mod signatures;

use reqwest::Url;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use self::reader::ReplyReader;
use crate::api::{AnswerReader, Api, Post};
use crate::count::{Answer, Question};
use crate::openai::Endpoint;
use crate::provider::Dialect;
use crate::{LocalKind, ModelError, Request};

/// The OpenAI chat API, set up for one model.
pub(crate) struct ChatApi(pub(crate) Endpoint);

impl Api for ChatApi {
    fn post(&self, request: &Request) -> Result<Post, ModelError> {
        self.0.post(&body::of(&self.0, request))
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(ReplyReader::default())
    }

    fn count(&self, request: &Request) -> Option<Question> {
        let Dialect::Local(kind) = self.0.dialect else {
            return None;
        };
        let post = self.post(request).ok()?;
        let mut fields = post.fields(&["model", "messages", "tools"])?;
        let at = |path: &str| {
            let mut url = post.url.clone();
            let root = url.path().strip_suffix("/v1/chat/completions")?.to_owned();
            url.set_path(&format!("{root}{path}"));
            Some(url)
        };
        match kind {
            LocalKind::Vllm => {
                fields.insert("add_generation_prompt".to_owned(), true.into());
                let url = at("/tokenize")?;
                Some(Question::new(post.to(url, &fields.into()), "/count"))
            }
            LocalKind::LlamaCpp => {
                let (template, tokenize) = (at("/apply-template")?, at("/tokenize")?);
                let headers = post.headers.clone();
                Some(Question {
                    post: post.to(template, &fields.into()),
                    read: Box::new(move |answer| tokenized(answer, tokenize, headers)),
                })
            }
            LocalKind::LmStudio | LocalKind::Ollama => None,
        }
    }
}

/// The server of llama.cpp tells first what the model would read, then how many tokens that is.
fn tokenized(answer: &Value, url: Url, headers: HeaderMap) -> Answer {
    let Some(prompt) = answer["prompt"].as_str() else {
        return Answer::None;
    };
    let body = json!({ "content": prompt, "add_special": true, "parse_special": true });
    Answer::Ask(Box::new(Question {
        post: Post {
            url,
            headers,
            body: body.to_string().into_bytes(),
        },
        read: Box::new(|answer| {
            answer["tokens"]
                .as_array()
                .map(|tokens| tokens.len() as u64)
                .into()
        }),
    }))
}
