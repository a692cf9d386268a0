//! How the server reaches others.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// How long to wait for a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// A client for one address. It follows nobody elsewhere: a redirect would take our headers along. Proxies are those
/// of the environment, but this machine is not behind any.
pub(crate) fn client(ca_file: Option<&Path>, url: &Url) -> Result<Client, String> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    let builder = Client::builder();
    let builder = if is_here { builder.no_proxy() } else { builder };
    builder
        .tls_backend_preconfigured(tls(ca_file)?)
        .connect_timeout(CONNECT_LIMIT)
        .user_agent(concat!("deft/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .build()
        .map_err(|error| format!("no connection can be made: {}", root_cause(&error)))
}

/// The certificates are built in, because an empty container has none.
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
    let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(tls
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// The innermost error says what happened; those around it only where.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => root_cause(source),
        None => error.to_string(),
    }
}
