//! One JSON document from a server: what it says about itself or its models.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::Value;
use tokio::time::timeout;

use super::{Server, failure_text, next_bytes, silent};
use crate::ModelError;
use crate::http::failure::{excerpt, failure_of};

/// A document may not be longer than this.
const MAX_DOCUMENT_BYTES: usize = 8 * 1024 * 1024;

/// Sends a request and reads the JSON that comes back, all within a time.
pub(crate) async fn fetch(request: RequestBuilder, limit: Duration) -> Result<Value, ModelError> {
    timeout(limit, read(request, limit))
        .await
        .map_err(|_| silent(limit))?
}

async fn read(request: RequestBuilder, limit: Duration) -> Result<Value, ModelError> {
    let (client, request) = request.build_split();
    let request = request.map_err(|error| ModelError::BadRequest {
        detail: error.without_url().to_string(),
    })?;
    let server = Server::of(request.url());
    let mut response = client
        .execute(request)
        .await
        .map_err(|error| server.failure(error))?;
    if !response.status().is_success() {
        let status = response.status().as_u16();
        let text = failure_text(response, &server).await;
        return Err(failure_of(Some(status), None, &text));
    }
    let mut document = Vec::new();
    while let Some(bytes) = next_bytes(&mut response, limit, &server).await? {
        if document.len() + bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(ModelError::Protocol {
                detail: format!("a document of more than {MAX_DOCUMENT_BYTES} bytes"),
            });
        }
        document.extend_from_slice(&bytes);
    }
    serde_json::from_slice(&document).map_err(|error| ModelError::Protocol {
        detail: format!(
            "expected JSON ({error}), got: {}",
            excerpt(&String::from_utf8_lossy(&document))
        ),
    })
}
