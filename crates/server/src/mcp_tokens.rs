//! Tokens for MCP servers, sealed like everything that is entrusted to us.

use std::io;

use deft_mcp::TokenStore;
use deft_types::Secret;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::accounts::hash;
use crate::documents::Documents;
use crate::failure::Failure;

/// Where they are kept among the documents.
const FOLDER: &str = "mcp-tokens/";

/// Those of one user.
pub(crate) struct McpTokens(Documents);

impl McpTokens {
    pub(crate) fn new(documents: Documents) -> Self {
        Self(documents)
    }
}

impl TokenStore for McpTokens {
    fn load<'a>(&'a self, url: &'a str) -> BoxFuture<'a, io::Result<Option<Secret<String>>>> {
        async move {
            let kept = self
                .0
                .get(&place(url))
                .await
                .map_err(|failure| unkept(&failure))?;
            let tokens = kept.as_ref().and_then(|kept| kept["tokens"].as_str());
            Ok(tokens.map(|tokens| Secret::new(tokens.to_owned())))
        }
        .boxed()
    }

    fn save<'a>(&'a self, url: &'a str, tokens: Option<Secret<String>>) -> BoxFuture<'a, io::Result<()>> {
        let kept = tokens.map(|tokens| json!({"url": url, "tokens": tokens.expose()}));
        async move {
            let put = |_: Option<Value>| Ok((kept.clone(), ()));
            self.0
                .change(&place(url), put)
                .await
                .map_err(|failure| unkept(&failure))
        }
        .boxed()
    }
}

fn place(url: &str) -> String {
    format!("{FOLDER}{}", hash(url))
}

fn unkept(failure: &Failure) -> io::Error {
    io::Error::other(failure.detail())
}
