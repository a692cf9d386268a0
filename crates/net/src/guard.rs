//! Keeps requests away from addresses that somebody else has named and must not reach.

use std::net::{IpAddr, SocketAddr};

use hickory_resolver::TokioResolver;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

/// Whether an address may be asked, as far as it says so itself. A number in the place of a name is not looked up, so the
/// guard of names does not see it.
#[must_use]
pub fn admits(url: &Url, allows: fn(IpAddr) -> bool) -> bool {
    let host = url.host_str().unwrap_or_default();
    let number = host.trim_matches(['[', ']']).parse();
    number.map_or(true, allows)
}

/// Looks names up and refuses those that lead to an address that is not allowed. The connection is made to the
/// very address that was looked at, so that a second look-up cannot give another one.
pub struct Guard {
    /// Which addresses may be asked.
    pub allows: fn(IpAddr) -> bool,
}

/// The name leads to a private address.
#[derive(Debug, thiserror::Error)]
#[error("not a public address")]
struct PrivateName;

/// Whether a request failed because a guard refused where its name leads.
#[must_use]
pub fn is_private_name(error: &reqwest::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(inner) = cause {
        if inner.is::<PrivateName>() {
            return true;
        }
        cause = inner.source();
    }
    false
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let allows = self.allows;
        Box::pin(async move {
            let found = TokioResolver::builder_tokio()?
                .build()?
                .lookup_ip(name.as_str())
                .await?;
            let addresses: Vec<IpAddr> = found.iter().collect();
            if !addresses.iter().all(|address| allows(*address)) {
                return Err(PrivateName.into());
            }
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
