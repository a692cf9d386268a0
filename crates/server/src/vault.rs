//! Keeps what clients entrust to us unreadable on the disk.

mod key;
mod keyring;
mod place;
mod private_file;
mod rotation;

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use ring::rand::{SecureRandom as _, SystemRandom};

use self::key::Key;
use self::place::Stamp;
pub use self::place::{KeyHome, VaultKeys};
pub(crate) use self::private_file::{Origin, private_file};
pub use self::rotation::{RotationError, rotate_key};

/// Bytes of a key for clients.
const CLIENT_KEY_BYTES: usize = 32;
/// Keys that are remembered; a server sees fewer rotations in its life.
const MAX_KEYS: usize = 64;

/// Why a secret cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The file with the key cannot be used.
    #[error("cannot use the key file {}: {reason}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// A variable holds no key.
    #[error(
        "DEFT_VAULT_KEY and DEFT_VAULT_KEYS_BEFORE must hold 32 bytes in base64; `openssl rand -base64 32` makes a key"
    )]
    Variable,
    /// The keyring does not give the key.
    #[error(
        "the key cannot be had from the keyring: {reason}; unlock it, and see that `secret-tool` (libsecret) works"
    )]
    Keyring {
        /// What was said.
        reason: String,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers; nothing secret can be kept without them")]
    NoRandomness,
    /// It was sealed with another key, or altered.
    #[error(
        "what is stored was sealed with another key or was altered; put back the key that was there before"
    )]
    Unreadable,
}

/// Seals values with one key, and opens what was sealed with that or with those before it.
pub(crate) struct Vault {
    keys: VaultKeys,
    ring: RwLock<Ring>,
}

struct Ring {
    /// Of the file when it was last read.
    stamp: Option<Stamp>,
    /// The first seals.
    keys: Vec<Key>,
}

impl Vault {
    /// The vault with these keys. Where there is none, one is made.
    pub(crate) fn open(keys: VaultKeys) -> Result<Self, VaultError> {
        let stamp = keys.stamp(); // before they are read: a newer file is read again
        let ring = Ring {
            stamp,
            keys: keys.read()?,
        };
        Ok(Self {
            keys,
            ring: RwLock::new(ring),
        })
    }

    /// Makes a text unreadable. `place` must be named again to read it: it cannot be moved elsewhere.
    pub(crate) fn seal(&self, place: &str, text: &str) -> Result<String, VaultError> {
        self.look_again()?; // what is sealed with a key that is about to go would be lost
        let key = self.ring().first().cloned();
        key.ok_or(VaultError::Unreadable)?.seal(place, text)
    }

    /// The text that was sealed.
    pub(crate) fn open_sealed(&self, place: &str, sealed: &str) -> Result<String, VaultError> {
        let find = || self.ring().iter().find_map(|key| key.open(place, sealed));
        if let Some(text) = find() {
            return Ok(text);
        }
        self.look_again()?;
        find().ok_or(VaultError::Unreadable)
    }

    /// Reads the keys again where they were replaced. Those that were known still open: what they have sealed may be on
    /// its way, or with a client.
    fn look_again(&self) -> Result<(), VaultError> {
        let stamp = self.keys.stamp();
        let known = self.ring.read().unwrap_or_else(PoisonError::into_inner).stamp;
        if stamp.is_none() || stamp == known {
            return Ok(());
        }
        let found = self.keys.read()?;
        let mut ring = self.ring.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut ring.keys, found);
        for key in before {
            if !ring.keys.contains(&key) && ring.keys.len() < MAX_KEYS {
                ring.keys.push(key);
            }
        }
        ring.stamp = stamp;
        Ok(())
    }

    fn ring(&self) -> Vec<Key> {
        let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
        ring.keys.clone()
    }
}

/// A new key for clients: 256 random bits that are easy to copy.
pub(crate) fn new_client_key() -> Result<String, VaultError> {
    let mut bytes = [0_u8; CLIENT_KEY_BYTES];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| VaultError::NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
