//! Decides which addresses may be connected to.
//!
//! A name is looked up once, what it leads to is looked at, and the connection is made to that very address: a name
//! that leads elsewhere a moment later gains nothing by it.

mod tunnel;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use deft_types::Network;
use futures::FutureExt;
use futures::future::BoxFuture;
use hickory_resolver::TokioResolver;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// How long a server may take to answer.
const CONNECT_LIMIT: Duration = Duration::from_secs(15);

/// Which addresses a tool may connect to. Where clouds tell machines their keys (169.254.0.0/16 and its like) is never
/// among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Those that everybody can reach.
    Public,
    /// Those, and this machine, where the program that is being written listens.
    PublicAndLoopback,
    /// All of them.
    All,
}

impl Addresses {
    /// All of them, by the names that people know them by.
    pub const NAMES: [(&str, Self); 3] = [
        ("public", Self::Public),
        ("loopback", Self::PublicAndLoopback),
        ("all", Self::All),
    ];

    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, addresses)| *addresses)
    }

    fn allow(self, network: Network) -> bool {
        match network {
            Network::Public => true,
            Network::Loopback => self != Self::Public,
            Network::Private => self == Self::All,
            Network::Metadata => false,
        }
    }
}

/// Why there is no address to connect to.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("`{host}` is {}, which this tool may not reach", describe(*network))]
    Forbidden { host: String, network: Network },
    #[error("the name `{host}` could not be looked up ({reason})")]
    Unknown { host: String, reason: String },
}

fn describe(network: Network) -> &'static str {
    match network {
        Network::Public => "on the public internet",
        Network::Loopback => "this machine itself",
        Network::Metadata => "a link-local or cloud metadata address",
        Network::Private => "an address of a private network",
    }
}

/// Looks names up.
pub(crate) trait Names: Send + Sync {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>>;
}

/// Knows where connections may go. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Gate {
    allowed: Addresses,
    names: Arc<dyn Names>,
    way_out: Option<SocketAddr>,
}

impl Gate {
    /// Where there is a way out, other machines are reached through that alone: it is an HTTP proxy of ours outside of
    /// a sandbox, which looks names up and decides again.
    pub(crate) fn new(allowed: Addresses, way_out: Option<SocketAddr>) -> Self {
        Self {
            allowed,
            names: Arc::new(SystemNames::default()),
            way_out,
        }
    }

    /// A connection to a host, or why there is none.
    pub(crate) async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, String> {
        match self.way_out {
            Some(proxy) if !is_this_machine(host) => tunnel::open(proxy, host, port).await,
            Some(_) | None => {
                let addresses = self.pass(host).await.map_err(|refusal| refusal.to_string())?;
                direct(&addresses, port).await
            }
        }
    }

    /// The addresses of a host, a name or a number, if they may be connected to.
    async fn pass(&self, host: &str) -> Result<Vec<IpAddr>, Refusal> {
        let unknown = |reason: String| Refusal::Unknown {
            host: host.to_owned(),
            reason,
        };
        let addresses = match host.trim_matches(['[', ']']).parse() {
            Ok(number) => vec![number],
            // Ours by definition, whatever a name server says.
            Err(_) if is_localhost(host) => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            Err(_) => self.names.lookup(host).await.map_err(unknown)?,
        };
        if addresses.is_empty() {
            return Err(unknown("it has no address".to_owned()));
        }
        self.check(host, &addresses)?;
        Ok(addresses)
    }

    /// One forbidden address among others is enough: such a name was made to deceive.
    fn check(&self, host: &str, addresses: &[IpAddr]) -> Result<(), Refusal> {
        let networks = addresses.iter().map(|address| Network::of(*address));
        match networks.into_iter().find(|network| !self.allowed.allow(*network)) {
            None => Ok(()),
            Some(network) => Err(Refusal::Forbidden {
                host: host.to_owned(),
                network,
            }),
        }
    }
}

fn is_localhost(host: &str) -> bool {
    let bare = host.trim_end_matches('.');
    bare == "localhost" || bare.ends_with(".localhost")
}

/// Whether a host is on this side of the way out.
fn is_this_machine(host: &str) -> bool {
    let number = host.trim_matches(['[', ']']).parse();
    number.map_or_else(
        |_| is_localhost(host),
        |number| Network::of(number) == Network::Loopback,
    )
}

/// Connects to the first address that answers.
async fn direct(addresses: &[IpAddr], port: u16) -> Result<TcpStream, String> {
    let mut reason = String::new();
    for address in addresses {
        let address = SocketAddr::new(*address, port);
        let failure = match timeout(CONNECT_LIMIT, TcpStream::connect(address)).await {
            Ok(Ok(server)) => {
                let _ = server.set_nodelay(true); // only a matter of speed
                return Ok(server);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", CONNECT_LIMIT.as_secs()),
        };
        reason = format!("{address} could not be connected to: {failure}");
    }
    Err(reason)
}

/// The name servers that this system is set up with.
#[derive(Default)]
struct SystemNames(OnceCell<TokioResolver>);

impl Names for SystemNames {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, String>> {
        async move {
            let resolver = self
                .0
                .get_or_try_init(|| async { TokioResolver::builder_tokio()?.build() })
                .await
                .map_err(|error| error.to_string())?;
            let found = resolver
                .lookup_ip(name)
                .await
                .map_err(|error| error.to_string())?;
            Ok(found.iter().collect())
        }
        .boxed()
    }
}

#[cfg(test)]
impl Gate {
    pub(crate) fn with_names(allowed: Addresses, names: Arc<dyn Names>) -> Self {
        Self {
            names,
            ..Self::new(allowed, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_may_be_reached_depends_on_the_network_and_metadata_never_may() {
        for (host, public, loopback, all) in [
            ("1.1.1.1", true, true, true),
            ("localhost", false, true, true),
            ("app.localhost.", false, true, true),
            ("[::1]", false, true, true),
            ("10.0.0.1", false, false, true),
            ("169.254.169.254", false, false, false),
            ("::ffff:169.254.169.254", false, false, false),
        ] {
            for (allowed, expected) in [
                (Addresses::Public, public),
                (Addresses::PublicAndLoopback, loopback),
                (Addresses::All, all),
            ] {
                assert_eq!(
                    Gate::new(allowed, None).pass(host).await.is_ok(),
                    expected,
                    "{host} {allowed:?}"
                );
            }
        }
    }
}
