//! What programs of the workspace have asked the network for, as the log remembers it.

use deft_workspace::egress::{EgressRequest, Outcome};
use serde::{Deserialize, Serialize};

/// Different requests that one event tells of; others are only counted.
const MAX_TOLD: usize = 50;
/// Different requests that a conversation remembers: of more the oldest are forgotten.
const MAX_REMEMBERED: usize = 200;

/// Requests for the same, with the same outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requested {
    /// The host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What came of them.
    pub outcome: Outcome,
    /// How many there were.
    pub count: u64,
}

/// What one event tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Egress {
    /// The moment of the last request, in milliseconds since 1970: the next event tells of later ones.
    pub(crate) until: u64,
    pub(crate) requests: Vec<Requested>,
    /// Requests that are not among them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) more: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Egress {
    /// None: nothing was asked for.
    pub(crate) fn of(requests: Vec<EgressRequest>) -> Option<Self> {
        let mut told = Self {
            until: requests.last()?.at,
            ..Self::default()
        };
        for EgressRequest {
            host, port, outcome, ..
        } in requests
        {
            let requested = Requested {
                host,
                port,
                outcome,
                count: 1,
            };
            told.more += u64::from(!add(&mut told.requests, requested, MAX_TOLD));
        }
        Some(told)
    }

    /// What to tell the agent of hosts that were refused, if any were.
    pub(crate) fn refusal(&self) -> Option<String> {
        let hosts_that = |outcome: Outcome| {
            let refused = self.requests.iter().filter(|asked| asked.outcome == outcome);
            let hosts: Vec<_> = refused
                .map(|asked| format!("{}:{}", asked.host, asked.port))
                .collect();
            (!hosts.is_empty()).then(|| hosts.join(", "))
        };
        let unlisted = hosts_that(Outcome::NotOnTheList).map(|hosts| {
            format!(
                "The sandbox refused {hosts}: not on its allow-list. Only the user can change that, with the setting \
                 sandbox_allow (or sandbox_network = \"all\")."
            )
        });
        let denied = hosts_that(Outcome::Denied).map(|hosts| {
            format!(
                "The user was asked for {hosts} and has refused. Do without, and do not ask for it again."
            )
        });
        let private = hosts_that(Outcome::PrivateAddress).map(|hosts| {
            format!(
                "The sandbox refused {hosts}: its name leads to a private network. Only the user can allow that, by \
                 adding the address itself to the setting sandbox_allow."
            )
        });
        let told: Vec<_> = unlisted.into_iter().chain(denied).chain(private).collect();
        (!told.is_empty()).then(|| format!("\n[{}]", told.join(" ")))
    }

    /// Adds it to what was asked for before.
    pub(crate) fn join(self, before: &mut Vec<Requested>) {
        for requested in self.requests {
            if !add(before, requested.clone(), MAX_REMEMBERED) {
                before.remove(0);
                before.push(requested);
            }
        }
    }
}

/// Counts a request with others for the same; whether there was room for it.
fn add(all: &mut Vec<Requested>, new: Requested, most: usize) -> bool {
    let is_same = |other: &&mut Requested| {
        (&other.host, other.port, other.outcome) == (&new.host, new.port, new.outcome)
    };
    if let Some(same) = all.iter_mut().find(is_same) {
        same.count = same.count.saturating_add(new.count);
        return true;
    }
    if all.len() >= most {
        return false;
    }
    all.push(new);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at: u64, host: &str) -> EgressRequest {
        EgressRequest {
            at,
            host: host.to_owned(),
            port: 443,
            outcome: Outcome::Connected,
        }
    }

    #[test]
    fn the_agent_is_told_which_hosts_were_refused_and_by_which_setting() {
        let mut requests = vec![request(1, "fine.example")];
        assert_eq!(Egress::of(requests.clone()).unwrap().refusal(), None);
        for (host, outcome) in [
            ("a.example", Outcome::NotOnTheList),
            ("b.example", Outcome::NotOnTheList),
            ("c.example", Outcome::Denied),
            ("intranet", Outcome::PrivateAddress),
        ] {
            let at = requests.len() as u64 + 1;
            requests.push(EgressRequest {
                outcome,
                ..request(at, host)
            });
        }
        let refusal = Egress::of(requests).unwrap().refusal().unwrap();
        for words in [
            "a.example:443, b.example:443: not on",
            "sandbox_allow",
            "asked for c.example:443 and has refused",
            "intranet:443: its name leads",
        ] {
            assert!(refusal.contains(words), "{refusal}");
        }
        assert!(!refusal.contains("fine.example"));
    }

    #[test]
    fn repeated_requests_are_counted_and_of_too_many_the_oldest_are_forgotten() {
        assert_eq!(Egress::of(Vec::new()), None);
        let told = Egress::of(vec![request(1, "a"), request(2, "b"), request(3, "a")]).unwrap();
        assert_eq!(
            (told.until, told.requests.len(), told.requests[0].count),
            (3, 2, 2)
        );
        let flood = (0..60).map(|n| request(n, &format!("host-{n}"))).collect();
        let told_of_flood = Egress::of(flood).unwrap();
        assert_eq!((told_of_flood.requests.len(), told_of_flood.more), (MAX_TOLD, 10));
        let mut remembered = Vec::new();
        told.clone().join(&mut remembered);
        told.join(&mut remembered);
        assert_eq!((remembered.len(), remembered[0].count), (2, 4));
        for round in 0..10 {
            let hosts = (0..30).map(|n| request(n, &format!("{round}-{n}"))).collect();
            Egress::of(hosts).unwrap().join(&mut remembered);
        }
        assert_eq!(remembered.len(), MAX_REMEMBERED);
        assert_eq!(remembered.last().unwrap().host, "9-29");
        assert!(remembered.iter().all(|requested| requested.host != "a"));
    }
}
