//! Which hosts may be reached.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::Host;

/// The ports of a rule that names none.
const WEB: [u16; 2] = [80, 443];

/// Where packages of the common languages and systems come from.
pub(super) const REGISTRIES: &[&str] = &[
    // Rust
    "crates.io",
    "*.crates.io",
    "static.rust-lang.org",
    // JavaScript
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "registry.npmjs.com",
    "jsr.io",
    "npm.jsr.io",
    "nodejs.org",
    // Python
    "pypi.org",
    "files.pythonhosted.org",
    "conda.anaconda.org",
    "repo.anaconda.com",
    // Go
    "proxy.golang.org",
    "sum.golang.org",
    "go.dev",
    "dl.google.com",
    // JVM
    "repo.maven.apache.org",
    "repo1.maven.org",
    "plugins.gradle.org",
    "services.gradle.org",
    "downloads.gradle.org",
    // Ruby, PHP, .NET, Haskell, Elixir, Perl, R
    "rubygems.org",
    "*.rubygems.org",
    "packagist.org",
    "repo.packagist.org",
    "api.nuget.org",
    "hackage.haskell.org",
    "hex.pm",
    "repo.hex.pm",
    "cpan.metacpan.org",
    "cran.r-project.org",
    // Debian, Ubuntu, Alpine
    "deb.debian.org",
    "security.debian.org",
    "archive.ubuntu.com",
    "*.archive.ubuntu.com",
    "security.ubuntu.com",
    "ports.ubuntu.com",
    "dl-cdn.alpinelinux.org",
];

/// One entry of an allow-list: `example.com`, `*.example.com`, `example.com:8443`, `10.0.0.5:8081`. A name must lead
/// to a public address; an address that is named itself may be any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostRule {
    host: Pattern,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Name(String),
    Below(String),
    Address(IpAddr),
}

/// A text that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no host: write example.com, *.example.com, example.com:8443 or 10.0.0.5:8081")]
pub struct HostRuleError(String);

impl HostRule {
    /// Whether it lets a request through.
    pub(super) fn allows(&self, host: &Host<String>, port: u16) -> bool {
        let right_port = self.port.map_or_else(|| WEB.contains(&port), |own| own == port);
        right_port
            && match (&self.host, host) {
                (Pattern::Name(own), Host::Domain(name)) => own == name,
                (Pattern::Below(above), Host::Domain(name)) => name
                    .strip_suffix(above.as_str())
                    .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
                (Pattern::Address(own), Host::Ipv4(address)) => *own == IpAddr::V4(*address),
                (Pattern::Address(own), Host::Ipv6(address)) => *own == IpAddr::V6(*address),
                (Pattern::Address(_), Host::Domain(_))
                | (Pattern::Name(_) | Pattern::Below(_), Host::Ipv4(_) | Host::Ipv6(_)) => false,
            }
    }

    /// The rule for one name.
    pub(super) fn name(name: &str) -> Self {
        Self {
            host: Pattern::Name(name.to_lowercase()),
            port: None,
        }
    }
}

impl FromStr for HostRule {
    type Err = HostRuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || HostRuleError(text.to_owned());
        let text = text.trim();
        let (below, rest) = text.strip_prefix("*.").map_or((false, text), |rest| (true, rest));
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, Some(port.parse().map_err(|_| wrong())?))
            }
            _ => (rest, None),
        };
        // Of a star in the middle nobody could say what it means.
        if host.contains('*') {
            return Err(wrong());
        }
        let host = match (Host::parse(host).map_err(|_| wrong())?, below) {
            (Host::Domain(name), true) => Pattern::Below(name),
            (Host::Domain(name), false) => Pattern::Name(name),
            (Host::Ipv4(address), false) => Pattern::Address(address.into()),
            (Host::Ipv6(address), false) => Pattern::Address(address.into()),
            (Host::Ipv4(_) | Host::Ipv6(_), true) => return Err(wrong()),
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Pattern::Name(name) => write!(f, "{name}")?,
            Pattern::Below(name) => write!(f, "*.{name}")?,
            Pattern::Address(IpAddr::V4(address)) => write!(f, "{address}")?,
            Pattern::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl TryFrom<String> for HostRule {
    type Error = HostRuleError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<HostRule> for String {
    fn from(rule: HostRule) -> Self {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rule: &str, host: &str, port: u16) -> bool {
        let rule: HostRule = rule.parse().unwrap();
        assert_eq!(rule.to_string().parse(), Ok(rule.clone()));
        rule.allows(&Host::parse(host).unwrap(), port)
    }

    #[test]
    fn a_rule_allows_what_it_names_and_nothing_like_it() {
        assert!(allows("example.com", "EXAMPLE.com", 443));
        assert!(!allows("example.com", "evil-example.com", 443));
        assert!(!allows("example.com", "example.com.evil.org", 443));
        assert!(!allows("example.com", "example.com", 22));
        assert!(allows("example.com:8443", "example.com", 8443));
        assert!(!allows("example.com:8443", "example.com", 443));
        assert!(allows("*.example.com", "a.b.example.com", 80));
        assert!(!allows("*.example.com", "example.com", 80));
        assert!(!allows("*.example.com", "evilexample.com", 80));
        assert!(allows("10.0.0.5:8081", "10.0.0.5", 8081));
        assert!(allows("[::1]:80", "[::1]", 80));
        assert!(!allows("example.com", "10.0.0.5", 80));
    }

    #[test]
    fn every_registry_is_a_rule() {
        for registry in REGISTRIES {
            assert_eq!(registry.parse::<HostRule>().unwrap().to_string(), *registry);
        }
        for wrong in ["", "*", "*.10.0.0.1", "a b", "host:port", "http://x/y"] {
            assert!(wrong.parse::<HostRule>().is_err(), "{wrong}");
        }
    }
}
