//! Makes the images of a request such as providers take them.
//!
//! Too large ones are made smaller, and wrongly labelled ones labelled anew. Where a provider fetches nothing itself, images on the web are fetched and
//! put into the request, but never from addresses that only this machine can reach: a page that an agent reads
//! must not be able to make it read those. An image that cannot be sent is replaced by a line that says why.

mod fetch;
mod shrink;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use deft_types::{Content, Message};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use tokio::task::spawn_blocking;

pub(crate) use self::fetch::Fetcher;
use self::shrink::shrink;
use crate::{Delta, Model, ModelError, ModelProfile, Request, TokenCount};

/// The longest side of an image, in pixels.
const MAX_SIDE: u32 = 8_000;

/// The same where there are more images than [`MANY`].
const MAX_SIDE_OF_MANY: u32 = 2_000;

/// From how many on images have to be smaller.
const MANY: usize = 20;

/// The largest image that is read or fetched.
pub(crate) const MAX_IMAGE_BYTES: usize = 20 * 1024 * 1024;

/// How much of prepared images is kept: the same ones come with every request.
const MAX_KEPT_BYTES: usize = 64 * 1024 * 1024;

/// A model whose requests have their images prepared.
pub(crate) struct ImagesModel {
    inner: Arc<dyn Model>,
    studio: Arc<Studio>,
}

impl ImagesModel {
    /// With a fetcher images on the web are put into the request, without one their addresses are sent.
    pub(crate) fn new(inner: Arc<dyn Model>, fetcher: Option<Fetcher>, max_bytes: usize) -> Self {
        let studio = Studio {
            fetcher,
            max_bytes,
            kept: Mutex::default(),
            hasher: RandomState::new(),
        };
        Self {
            inner,
            studio: Arc::new(studio),
        }
    }
}

impl Model for ImagesModel {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        if !self.profile().capabilities.vision || count(&request) == 0 {
            return self.inner.stream(request);
        }
        let (inner, studio) = (Arc::clone(&self.inner), Arc::clone(&self.studio));
        let reply = async move { Ok::<_, ModelError>(inner.stream(studio.prepare(request).await)) };
        stream::once(reply).try_flatten().boxed()
    }

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        let (inner, studio) = (Arc::clone(&self.inner), Arc::clone(&self.studio));
        async move { inner.count(studio.prepare(request).await).await }.boxed()
    }
}

fn count(request: &Request) -> usize {
    let content = request.messages.iter().flat_map(|message| &message.content);
    let images = content.map(|part| match part {
        Content::Text(_) => 0,
        Content::Image(body) => body.image_urls.len(),
    });
    images.sum()
}

/// Where images are prepared, and kept for the next request.
struct Studio {
    fetcher: Option<Fetcher>,
    /// The largest image that the server takes.
    max_bytes: usize,
    kept: Mutex<Kept>,
    hasher: RandomState,
}

/// Prepared images by the hash of their address and their longest side.
#[derive(Default)]
struct Kept {
    images: HashMap<(u64, u32), Prepared>,
    bytes: usize,
}

/// What becomes of an image.
#[derive(Clone, Debug, PartialEq)]
enum Prepared {
    /// It is good as it is.
    Unchanged,
    /// Another one, as a `data:` address.
    Changed(String),
    /// It cannot be sent, for that reason.
    LeftOut(String),
}

impl Studio {
    async fn prepare(&self, mut request: Request) -> Request {
        let side = if count(&request) > MANY {
            MAX_SIDE_OF_MANY
        } else {
            MAX_SIDE
        };
        for index in 0..request.messages.len() {
            let prepared = self.message(&request.messages[index], side).await;
            if let Some(prepared) = prepared {
                request.messages.list()[index] = Arc::new(prepared);
            }
        }
        request
    }

    /// The message with its images prepared; `None` where nothing changes.
    async fn message(&self, message: &Message, side: u32) -> Option<Message> {
        let mut changed = false;
        let mut content = Vec::with_capacity(message.content.len());
        for part in &message.content {
            let Content::Image(body) = part else {
                content.push(part.clone());
                continue;
            };
            let mut body = body.clone();
            let mut notes = Vec::new();
            for url in std::mem::take(&mut body.image_urls) {
                match self.image(&url, side).await {
                    Prepared::Unchanged => body.image_urls.push(url),
                    Prepared::Changed(url) => {
                        changed = true;
                        body.image_urls.push(url);
                    }
                    Prepared::LeftOut(reason) => {
                        changed = true;
                        notes.push(Content::text(format!("[An image was left out: {reason}.]")));
                    }
                }
            }
            if !body.image_urls.is_empty() {
                content.push(Content::Image(body));
            }
            content.append(&mut notes);
        }
        changed.then(|| Message {
            content,
            ..message.clone()
        })
    }

    async fn image(&self, url: &str, side: u32) -> Prepared {
        let key = (self.hasher.hash_one(url), side);
        if let Some(prepared) = self.kept().images.get(&key) {
            return prepared.clone();
        }
        let prepared = match (&self.fetcher, url.starts_with("data:")) {
            (_, true) => self.shrunk(url.to_owned(), side).await,
            (None, false) => Prepared::Unchanged,
            (Some(fetcher), false) => {
                match fetcher.fetch(url).await {
                    Ok(inline) => match self.shrunk(inline.clone(), side).await {
                        Prepared::Unchanged => Prepared::Changed(inline),
                        other @ (Prepared::Changed(_) | Prepared::LeftOut(_)) => other,
                    },
                    // Kept as well: no request waits for the same server again.
                    Err(error) => Prepared::LeftOut(error.to_string()),
                }
            }
        };
        self.keep(key, prepared.clone());
        prepared
    }

    /// Away from the threads that serve others.
    async fn shrunk(&self, url: String, side: u32) -> Prepared {
        let max_bytes = self.max_bytes;
        spawn_blocking(move || shrink(&url, side, max_bytes))
            .await
            .unwrap_or_else(|error| Err(error.to_string()))
            .unwrap_or_else(Prepared::LeftOut)
    }

    fn keep(&self, key: (u64, u32), prepared: Prepared) {
        let mut kept = self.kept();
        let size = match &prepared {
            Prepared::Unchanged => 0,
            Prepared::Changed(text) | Prepared::LeftOut(text) => text.len(),
        } + size_of::<(u64, u32, Prepared)>();
        if kept.bytes + size > MAX_KEPT_BYTES {
            *kept = Kept::default();
        }
        kept.bytes += size;
        kept.images.insert(key, prepared);
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
