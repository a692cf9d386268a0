//! The keys that open the server.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use deft_types::{Secret, UserId};
use ring::hmac;
use ring::rand::SystemRandom;

use super::directory::{Caller, Directory};
use super::guesses::Guesses;
use crate::vault::VaultError;

/// The header that carries the key.
pub(crate) const KEY_HEADER: &str = "x-session-api-key";
/// The cookie that lets a browser see files of workspaces.
pub(crate) const WORKSPACE_COOKIE: &str = "oh_workspace_session_key";
/// What that cookie is a code of.
const TICKET: &[u8] = b"files of workspaces";
/// Good keys that are remembered with their addresses; beyond it all are forgotten.
const MAX_VISITS: usize = 10_000;

/// What becomes of one who knocks.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// The key is good.
    Welcome(Caller),
    /// There is none, or a wrong one.
    Unknown,
    /// Too many wrong keys came from there: nothing is looked at for a while.
    TooOften,
}

/// Knows the keys.
pub(crate) struct Gate {
    /// Keys are compared by a code made with a key of our own: how long that takes tells nothing.
    code: hmac::Key,
    codes: Vec<hmac::Tag>,
    directory: Arc<Directory>,
    pub(crate) guesses: Guesses,
    /// Codes of good keys, each with the address that it came from. Who guesses wrong there does not shut these out:
    /// behind a proxy all have the same address.
    good: Mutex<HashSet<Vec<u8>>>,
}

impl Gate {
    /// Opens to these keys, of which an empty one is none, and to those of users; an address may try so many wrong ones within a minute.
    pub(crate) fn new(
        keys: &[Secret<String>],
        directory: Arc<Directory>,
        max_wrong: u32,
    ) -> Result<Self, VaultError> {
        let code = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| VaultError::NoRandomness)?;
        let codes = keys
            .iter()
            .filter(|key| !key.expose().is_empty())
            .map(|key| hmac::sign(&code, key.expose().as_bytes()))
            .collect();
        Ok(Self {
            code,
            codes,
            directory,
            guesses: Guesses::new(max_wrong),
            good: Mutex::default(),
        })
    }

    /// What the cookie for files of workspaces holds, which is good as long as the caller's key, and at most until the
    /// server ends. Nobody can make a key of it.
    pub(crate) fn workspace_ticket(&self, caller: &Caller) -> String {
        self.ticket(caller.place, caller.key.as_deref().unwrap_or_default())
    }

    fn ticket(&self, place: Option<UserId>, key: &str) -> String {
        let place = place.map(|place| place.hex()).unwrap_or_default();
        let code = hmac::sign(
            &self.code,
            &[TICKET, format!("{place}.{key}").as_bytes()].concat(),
        );
        let code: String = code.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{place}.{key}.{code}")
    }

    /// Whether a cookie holds one for that place, whose key still opens it.
    pub(crate) fn admits_ticket(&self, place: Option<UserId>, given: &str) -> bool {
        let Some(key) = given.split('.').nth(1) else {
            return false;
        };
        let ours = hmac::sign(&self.code, self.ticket(place, key).as_bytes());
        let is_ours = hmac::verify(&self.code, given.as_bytes(), ours.as_ref()).is_ok();
        // One without a key is of a key that the server was started with.
        is_ours && (key.is_empty() || self.directory.shows(key, place))
    }

    /// Looks at a key. To have none is no attempt to guess one.
    pub(crate) fn check(&self, from: IpAddr, given: Option<&str>) -> Verdict {
        let Some(given) = given else {
            return Verdict::Unknown;
        };
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        if good.len() >= MAX_VISITS {
            good.clear();
        }
        let visit = hmac::sign(&self.code, format!("{from} {given}").as_bytes());
        if self.guesses.are_too_many(from) && !good.contains(visit.as_ref()) {
            return Verdict::TooOften;
        }
        // Every key is looked at, whichever fits.
        let fits = self.codes.iter().fold(false, |fits, tag| {
            fits | hmac::verify(&self.code, given.as_bytes(), tag.as_ref()).is_ok()
        });
        let caller = if fits {
            Some(Caller::owner())
        } else {
            self.directory.caller(given)
        };
        if let Some(caller) = caller {
            good.insert(visit.as_ref().to_vec());
            return Verdict::Welcome(caller);
        }
        self.guesses.note(from);
        Verdict::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    use deft_store::{Options, SqliteStore};

    #[test]
    fn who_guesses_too_often_is_not_listened_to_for_a_while() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("deft.db"), Options::default()).unwrap();
        let gate = Gate::new(
            &["k-one", "k-two", ""].map(|key| Secret::new(key.to_owned())),
            Arc::new(Directory::new(Arc::new(store))),
            3,
        )
        .unwrap();
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let is_welcome = |from, key| matches!(gate.check(from, Some(key)), Verdict::Welcome(_));
        assert!(is_welcome(here, "k-one"));
        for _ in 0..10 {
            assert!(
                matches!(gate.check(here, None), Verdict::Unknown),
                "no key is no guess"
            );
        }
        for guess in ["", "k-on", "k-onee"] {
            assert!(matches!(gate.check(here, Some(guess)), Verdict::Unknown));
        }
        assert!(matches!(gate.check(here, Some("k-two")), Verdict::TooOften));
        assert!(is_welcome(here, "k-one"), "it was there before the guesses");
        let elsewhere = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        assert!(is_welcome(elsewhere, "k-one"));
    }

    #[test]
    fn a_ticket_is_good_for_one_user() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("deft.db"), Options::default()).unwrap();
        let gate = Gate::new(&[], Arc::new(Directory::new(Arc::new(store))), 3).unwrap();
        let [ann, bob] = [1, 2].map(|n| Some(UserId(uuid::Uuid::from_u128(n))));
        let at = |place| Caller {
            place,
            ..Caller::owner()
        };
        let ticket = gate.workspace_ticket(&at(ann));
        assert!(gate.admits_ticket(ann, &ticket));
        assert!(!gate.admits_ticket(bob, &ticket) && !gate.admits_ticket(None, &ticket));
        assert!(gate.admits_ticket(None, &gate.workspace_ticket(&at(None))));
        let key = Some("no-such-key".to_owned());
        let of_a_key = gate.workspace_ticket(&Caller { key, ..at(ann) });
        assert!(!gate.admits_ticket(ann, &of_a_key));
        assert!(!gate.admits_ticket(ann, &of_a_key.replace("no-such-key", "")));
        assert!(!gate.admits_ticket(None, "") && !gate.admits_ticket(None, ".."));
    }
}
