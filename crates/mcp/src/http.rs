//! How servers elsewhere are reached.

use std::collections::HashMap;
use std::path::PathBuf;
use std::str::FromStr;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, Url};

use crate::config::Remote;

/// How the network is used.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Certificates to trust beside the built-in ones.
    pub ca_file: Option<PathBuf>,
}

/// A client for an address. The sentence of a failure is for people.
pub(crate) fn client(network: &Network, url: &Url) -> Result<Client, String> {
    deft_net::client(network.ca_file.as_deref(), url).map_err(|error| error.to_string())
}

/// The configured headers. A value may be a key, so none is ever shown.
pub(crate) fn headers(remote: &Remote) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let read = remote.headers.iter().map(|(name, value)| {
        let bad = || format!("the header {name:?} cannot be sent: its name or its value has characters that headers may not have");
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| bad())?;
        value.set_sensitive(true);
        Ok((HeaderName::from_str(name).map_err(|_| bad())?, value))
    });
    read.collect()
}
