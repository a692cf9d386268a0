//! Which addresses are of the public internet.

use std::net::{IpAddr, Ipv4Addr};

/// Whether everybody could reach it. When in doubt, no.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.segments() {
            // Ways to write an address of version 4.
            [0, 0, 0, 0, 0, 0xffff, high, low]
            | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
            | [0x2002, high, low, ..] => {
                let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
                is_public_v4(Ipv4Addr::new(a, b, c, d))
            }
            // Tunnels, and addresses for documents.
            [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
            // All that has been given out so far.
            [first, ..] => first & 0xe000 == 0x2000,
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let carriers = a == 100 && b & 0b1100_0000 == 64;
    let protocols = a == 192 && b == 0 && c == 0;
    let benchmarks = a == 198 && b & 0b1111_1110 == 18;
    !(a == 0
        || a >= 224
        || carriers
        || protocols
        || benchmarks
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_disguise() {
        for private in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fd12::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2001:db8::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}
