//! How servers elsewhere are reached.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use url::Host;

use crate::config::Remote;

/// How long to wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How the network is used.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Certificates to trust beside the built-in ones.
    pub ca_file: Option<PathBuf>,
}

/// A client that follows nobody elsewhere: a redirect would take our headers along, and could lead into a network that
/// only we can reach. Proxies are those of the environment, but this machine is not behind any.
pub(crate) fn client(network: &Network, url: &Url) -> Result<Client, String> {
    let tls = tls(network.ca_file.as_deref())?;
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let builder = Client::builder();
    let builder = if is_here { builder.no_proxy() } else { builder };
    builder
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("deft/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .build()
        .map_err(|error| format!("no connection can be made: {}", root_cause(&error)))
}

/// The certificates are built in, because an empty container has none. The cryptography is chosen here and not for the
/// whole process, which may belong to somebody else.
fn tls(ca_file: Option<&Path>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    if let Some(path) = ca_file {
        let unusable = |reason: String| format!("`ca_file` {} cannot be used: {reason}", path.display());
        let certificates =
            CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| unusable(error.to_string()))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
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

/// The innermost error says what happened; those around it only where.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => root_cause(source),
        None => error.to_string(),
    }
}
