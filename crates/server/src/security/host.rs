//! By which names the server answers.
//!
//! A hostile page cannot reach a server on the user's machine under that server's name: its browser asks first.
//! But it can give its own name the address 127.0.0.1 and call that. The name it calls stands in the request.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::uri::Authority;

/// The names that are ours.
#[derive(Debug)]
pub(crate) struct Hosts {
    names: Vec<String>,
    /// Whether any address counts: a page cannot make an address point elsewhere.
    addresses: Addresses,
}

/// Which numeric addresses are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Addresses {
    Loopback,
    Any,
}

impl Hosts {
    /// Those of a server that listens here, and others it is known by.
    pub(crate) fn new(listening: IpAddr, names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().map(|name| name.to_ascii_lowercase());
        Self {
            names: names.chain(["localhost".to_owned()]).collect(),
            addresses: if listening.is_loopback() {
                Addresses::Loopback
            } else {
                Addresses::Any
            },
        }
    }

    /// Whether a request is meant for us. It must say so once, and everywhere the same.
    pub(crate) fn admit(&self, request: &Request) -> bool {
        let mut hosts = request.headers().get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return false;
        };
        let Ok(host) = host.to_str() else {
            return false;
        };
        let in_target = request.uri().authority().map(Authority::as_str);
        self.is_ours(host) && in_target.is_none_or(|target| target.eq_ignore_ascii_case(host))
    }

    fn is_ours(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        if host.contains('@') {
            return false;
        }
        let name = authority.host().to_ascii_lowercase();
        let address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(address) => address.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            None => name.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        };
        match (address, self.addresses) {
            (Some(IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST)), _)
            | (Some(IpAddr::V4(_)), Addresses::Any) => true,
            (Some(IpAddr::V6(address)), Addresses::Any) => address.to_ipv4_mapped().is_none(),
            (Some(_), Addresses::Loopback) => false,
            (None, _) => self.names.contains(&name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_answered() {
        let hosts = Hosts::new(Ipv4Addr::LOCALHOST.into(), ["deft.example.org".to_owned()]);
        for ours in [
            "localhost",
            "localhost:3000",
            "LOCALHOST:1",
            "127.0.0.1:3000",
            "[::1]:3000",
            "deft.example.org",
        ] {
            assert!(hosts.is_ours(ours), "{ours}");
        }
        for foreign in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "[::ffff:7f00:1]",
            "192.168.0.7",
            "0.0.0.0",
            "evil@localhost",
            "",
            "127.0.0.1:3000/",
        ] {
            assert!(!hosts.is_ours(foreign), "{foreign}");
        }
        let open = Hosts::new(Ipv4Addr::UNSPECIFIED.into(), []);
        assert!(open.is_ours("192.168.0.7:3000") && open.is_ours("[2001:db8::1]"));
        assert!(!open.is_ours("evil.example") && !open.is_ours("[::ffff:7f00:1]"));
    }
}
