//! Keeps what clients entrust to us unreadable on the disk.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use deft_types::Secret;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};

/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// Bits of a file's mode that let others in.
const OTHERS: u32 = 0o077;

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
    /// The system gives no random numbers.
    #[error("the system gives no random numbers; nothing secret can be kept without them")]
    NoRandomness,
    /// It was sealed with another key, or altered.
    #[error(
        "what is stored was sealed with another key or was altered; put back the key file that was there before"
    )]
    Unreadable,
}

/// Seals and opens values with one key.
pub(crate) struct Vault {
    key: LessSafeKey,
    random: SystemRandom,
}

impl Vault {
    /// The vault whose key is in this file, which is made if it is missing.
    pub(crate) fn open(file: &Path) -> Result<Self, VaultError> {
        let random = SystemRandom::new();
        let secret = private_file(file, || {
            let mut key = [0; KEY_BYTES];
            random.fill(&mut key).map_err(|_| VaultError::NoRandomness)?;
            Ok(BASE64.encode(key))
        })?;
        let broken = || VaultError::KeyFile {
            path: file.to_owned(),
            reason: "it holds no key; put back the one that was there before".to_owned(),
        };
        let key = BASE64.decode(secret.value.expose()).map_err(|_| broken())?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &key).map_err(|_| broken())?;
        Ok(Self {
            key: LessSafeKey::new(key),
            random,
        })
    }

    /// Makes a text unreadable. `place` must be named again to read it: it cannot be moved elsewhere.
    pub(crate) fn seal(&self, place: &str, text: &str) -> Result<String, VaultError> {
        let mut nonce = [0; NONCE_LEN];
        self.random
            .fill(&mut nonce)
            .map_err(|_| VaultError::NoRandomness)?;
        let mut bytes = text.as_bytes().to_vec();
        self.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(place.as_bytes()),
                &mut bytes,
            )
            .map_err(|_| VaultError::Unreadable)?;
        Ok(BASE64.encode([nonce.as_slice(), &bytes].concat()))
    }

    /// The text that was sealed.
    pub(crate) fn open_sealed(&self, place: &str, sealed: &str) -> Result<String, VaultError> {
        let bytes = BASE64.decode(sealed).map_err(|_| VaultError::Unreadable)?;
        let (nonce, bytes) = bytes.split_at_checked(NONCE_LEN).ok_or(VaultError::Unreadable)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| VaultError::Unreadable)?;
        let mut bytes = bytes.to_vec();
        let text = self
            .key
            .open_in_place(nonce, Aad::from(place.as_bytes()), &mut bytes)
            .map_err(|_| VaultError::Unreadable)?;
        String::from_utf8(text.to_vec()).map_err(|_| VaultError::Unreadable)
    }
}

/// The content of a private file.
pub(crate) struct PrivateFile {
    pub(crate) value: Secret<String>,
    pub(crate) origin: Origin,
}

/// Where the content of a private file comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was there.
    Found,
    /// It was made just now.
    Made,
}

/// Reads a file that is for the user alone, or makes it.
pub(crate) fn private_file(
    path: &Path,
    make: impl FnOnce() -> Result<String, VaultError>,
) -> Result<PrivateFile, VaultError> {
    let unusable = |reason: String| VaultError::KeyFile {
        path: path.to_owned(),
        reason,
    };
    let io = |error: io::Error| unusable(format!("{error}; check its permissions"));
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Ok(mut file) => {
            let text = make()?;
            file.write_all(text.as_bytes()).map_err(io)?;
            file.sync_all().map_err(io)?;
            Ok(PrivateFile {
                value: Secret::new(text),
                origin: Origin::Made,
            })
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(path).map_err(io)?;
            if !found.is_file() || found.mode() & OTHERS != 0 {
                let reason = "it must be a plain file that only you can read; run: chmod 600 on it";
                return Err(unusable(reason.to_owned()));
            }
            let text = fs::read_to_string(path).map_err(io)?;
            Ok(PrivateFile {
                value: Secret::new(text.trim().to_owned()),
                origin: Origin::Found,
            })
        }
        Err(error) => Err(io(error)),
    }
}

/// A new key for clients: 256 random bits that are easy to copy.
pub(crate) fn new_client_key() -> Result<String, VaultError> {
    let mut bytes = [0_u8; KEY_BYTES];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| VaultError::NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_is_sealed_is_unreadable_without_its_key_and_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let vault = Vault::open(&directory.path().join("key")).unwrap();
        let sealed = vault.seal("here", "sk-secret").unwrap();
        assert!(!sealed.contains("secret"));
        assert_ne!(
            sealed,
            vault.seal("here", "sk-secret").unwrap(),
            "a nonce is used once"
        );
        assert_eq!(vault.open_sealed("here", &sealed).unwrap(), "sk-secret");
        assert!(vault.open_sealed("there", &sealed).is_err());
        let again = Vault::open(&directory.path().join("key")).unwrap();
        assert_eq!(again.open_sealed("here", &sealed).unwrap(), "sk-secret");
        let other = Vault::open(&directory.path().join("other")).unwrap();
        assert!(other.open_sealed("here", &sealed).is_err());
    }

    #[test]
    fn a_key_file_is_for_the_user_alone_or_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        Vault::open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Vault::open(&path), Err(VaultError::KeyFile { .. })));
    }
}
