//! Which addresses everybody can reach, and which only this machine or its network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Who can reach an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Everybody.
    Public,
    /// This machine.
    Loopback,
    /// This machine's link, or the cloud that it runs in: where machines are told their keys.
    Metadata,
    /// Any other network that is not everybody's.
    Private,
}

impl Network {
    /// The network an address belongs to, however it is written.
    pub fn of(address: IpAddr) -> Self {
        let inner = match address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(address) => inner_v4(address),
        };
        if METADATA.contains(&address) || inner.is_some_and(|inner| METADATA.contains(&IpAddr::V4(inner))) {
            return Self::Metadata;
        }
        match (address, inner) {
            (_, Some(inner)) if inner.is_link_local() => Self::Metadata,
            (IpAddr::V6(address), _) if address.is_unicast_link_local() => Self::Metadata,
            (_, Some(inner)) if inner.is_loopback() => Self::Loopback,
            (IpAddr::V6(Ipv6Addr::LOCALHOST), _) => Self::Loopback,
            _ if is_public(address) => Self::Public,
            _ => Self::Private,
        }
    }
}

/// Where clouds keep what a machine may know of itself, beside the addresses of the link.
const METADATA: [IpAddr; 3] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)), // Amazon
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),                  // Alibaba
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),                    // Azure
];

/// Whether an address is one of the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && b & 0b1100_0000 == 64; // carriers' own networks
    let protocols = a == 192 && b == 0 && c == 0;
    let benchmarks = a == 198 && b & 0b1111_1110 == 18;
    !(a == 0
        || a >= 240
        || shared
        || protocols
        || benchmarks
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = inner_v4(address) {
        return is_public_v4(inner);
    }
    match address.segments() {
        // Tunnels, and addresses for documents.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        // All that has been given out so far begins with these three bits.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// The address of version 4 that one of version 6 stands for.
fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_a_network_however_it_is_written() {
        for (address, network) in [
            ("1.1.1.1", Network::Public),
            ("2606:4700::1111", Network::Public),
            ("127.0.0.1", Network::Loopback),
            ("127.9.9.9", Network::Loopback),
            ("::1", Network::Loopback),
            ("::ffff:127.0.0.1", Network::Loopback),
            ("10.1.2.3", Network::Private),
            ("::ffff:192.168.0.1", Network::Private),
            ("fd12::1", Network::Private),
            ("0.0.0.0", Network::Private),
            ("169.254.169.254", Network::Metadata),
            ("::ffff:169.254.169.254", Network::Metadata),
            ("64:ff9b::a9fe:a9fe", Network::Metadata),
            ("fe80::1", Network::Metadata),
            ("fd00:ec2::254", Network::Metadata),
            ("168.63.129.16", Network::Metadata),
            ("::ffff:100.100.100.200", Network::Metadata),
        ] {
            assert_eq!(Network::of(address.parse().unwrap()), network, "{address}");
        }
    }

    #[test]
    fn private_addresses_are_known_in_every_disguise() {
        let private = [
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.8",
            "198.18.0.1",
            "198.19.255.255",
            "192.0.2.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "::7f00:1",
            "fec0::1",
        ];
        for address in private {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::",
        ];
        for address in public {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
