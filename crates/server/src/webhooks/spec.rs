//! Who is told what happens: `WebhookSpec` of the contract, and what it lacks.

use std::collections::BTreeMap;
use std::str::FromStr as _;
use std::time::Duration;

use deft_types::Secret;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;

/// Somebody who is told of all that happens, by HTTP.
///
/// The queue is the log itself, so the contract's `max_queue_size` and `max_queue_bytes` have nothing to limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct Webhook {
    /// What `/events/{id}` and `/conversations` are put behind.
    pub base_url: Url,
    /// The most events of one request; as many are sent at once.
    pub event_buffer_size: usize,
    /// How long fewer wait for more.
    pub flush_delay: Duration,
    /// How often a request is repeated after the same delay. After that the delay doubles each time.
    pub num_retries: u32,
    /// That delay.
    pub retry_delay: Duration,
    /// Headers of each request. They may hold keys.
    pub headers: HeaderMap,
    /// The largest body with more than one event.
    pub max_batch_bytes: usize,
    /// What requests are signed with.
    pub secret: Option<Secret<String>>,
    /// After so many failures a request is put aside, and the next one tried.
    pub dead_letter_after: u32,
}

/// As people write it.
#[derive(Deserialize)]
#[serde(default)]
struct Written {
    base_url: String,
    event_buffer_size: usize,
    flush_delay: f64,
    num_retries: u32,
    retry_delay: f64,
    headers: BTreeMap<String, Secret<String>>,
    max_batch_bytes: usize,
    secret: Option<Secret<String>>,
    dead_letter_after: u32,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            base_url: String::new(),
            event_buffer_size: 5,
            flush_delay: 30.0,
            num_retries: 3,
            retry_delay: 5.0,
            headers: BTreeMap::new(),
            max_batch_bytes: 5 * 1024 * 1024,
            secret: None,
            dead_letter_after: 50,
        }
    }
}

impl TryFrom<Written> for Webhook {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let base_url = Url::parse(&written.base_url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or("base_url must be an address such as https://example.org/hook")?;
        let seconds = |name: &str, seconds| {
            Duration::try_from_secs_f64(seconds).map_err(|_| format!("{name} must be a number of seconds"))
        };
        Ok(Self {
            base_url,
            event_buffer_size: written.event_buffer_size.max(1),
            flush_delay: seconds("flush_delay", written.flush_delay)?,
            num_retries: written.num_retries,
            retry_delay: seconds("retry_delay", written.retry_delay)?,
            headers: headers(&written.headers)?,
            max_batch_bytes: written.max_batch_bytes,
            secret: written.secret.filter(|secret| !secret.expose().is_empty()),
            dead_letter_after: written.dead_letter_after.max(1),
        })
    }
}

/// A value may be a key, so none is ever shown.
fn headers(written: &BTreeMap<String, Secret<String>>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in written {
        let bad =
            || format!("the header {name:?} cannot be sent: it has characters that headers may not have");
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_str(name).map_err(|_| bad())?, value);
    }
    Ok(headers)
}
