//! Which ports the programs of the workspace listen on.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use deft_tools::descendants;
use serde::{Deserialize, Serialize};

/// The most ports that are told of.
const MAX_PORTS: usize = 100;
/// The state of a socket that listens, in the kernel's table.
const LISTENING: &str = "0A";
/// The addresses that can be reached by way of the loopback, as the kernel writes them: any and the loopback itself.
const REACHABLE: [&str; 6] = [
    "00000000",
    "0100007F",
    "00000000000000000000000000000000",
    "00000000000000000000000001000000",
    "0000000000000000FFFF000000000000",
    "0000000000000000FFFF00000100007F",
];

/// A port that a program of the workspace serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListeningPort {
    /// The port.
    pub port: u16,
    /// What the program is called.
    pub process: String,
}

/// Those of programs that were started here. Our own are nobody's business, and in a workspace that shares the
/// machine's network neither are others'.
pub(super) fn ports() -> Vec<ListeningPort> {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let sockets: HashMap<String, u16> = tables.iter().flat_map(|table| listening(table)).collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let mut found = BTreeMap::new();
    for pid in descendants() {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
        for descriptor in descriptors.flatten() {
            let Ok(target) = fs::read_link(descriptor.path()) else {
                continue;
            };
            let port = target
                .to_str()
                .and_then(|target| sockets.get(socket_number(target)?));
            if let Some(port) = port {
                found.entry(*port).or_insert_with(|| name_of(pid));
            }
        }
    }
    let ports = found
        .into_iter()
        .map(|(port, process)| ListeningPort { port, process });
    ports.take(MAX_PORTS).collect()
}

/// The sockets of a table that listen where we can reach them: their numbers and ports.
fn listening(table: &str) -> impl Iterator<Item = (String, u16)> {
    table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, port) = fields.get(1)?.split_once(':')?;
        let reachable = *fields.get(3)? == LISTENING && REACHABLE.contains(&address);
        let port = u16::from_str_radix(port, 16).ok()?;
        reachable.then_some(((*fields.get(9)?).to_owned(), port))
    })
}

/// The number in `socket:[12345]`.
fn socket_number(target: &str) -> Option<&str> {
    target.strip_prefix("socket:[")?.strip_suffix(']')
}

fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_listen_within_reach_are_found_in_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0 100 0\n\
             1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 222 1 0 100 0\n\
             2: 0100007F:1F41 0100007F:1F40 01 00000000:00000000 00:00000000 00000000  1000        0 333 1 0 100 0\n\
             3: 0A00000A:1F42 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 444 1 0 100 0\n\
             nonsense\n";
        let found: Vec<_> = listening(table).collect();
        assert_eq!(found, [("111".to_owned(), 8000), ("222".to_owned(), 80)]);
        assert_eq!(socket_number("socket:[111]"), Some("111"));
        assert_eq!(socket_number("/dev/null"), None);
    }
}
