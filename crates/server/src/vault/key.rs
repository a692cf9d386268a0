//! One key of a vault.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use deft_types::Secret;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::VaultError;

/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// Seals and opens texts.
#[derive(Clone)]
pub(super) struct Key {
    text: Secret<String>,
    key: LessSafeKey,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Key {
    /// A new one.
    pub(super) fn random() -> Result<Self, VaultError> {
        let mut bytes = [0; KEY_BYTES];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| VaultError::NoRandomness)?;
        let text = Secret::new(BASE64.encode(bytes));
        Self::read(&text).ok_or(VaultError::NoRandomness)
    }

    /// The key that a text is: 32 bytes in base64.
    pub(super) fn read(text: &Secret<String>) -> Option<Self> {
        let bytes = BASE64.decode(text.expose()).ok()?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).ok()?;
        Some(Self {
            text: text.clone(),
            key: LessSafeKey::new(key),
        })
    }

    /// As it is written down.
    pub(super) fn text(&self) -> &Secret<String> {
        &self.text
    }

    /// Makes a text unreadable. `place` must be named again to read it: it cannot be moved elsewhere.
    pub(super) fn seal(&self, place: &str, text: &str) -> Result<String, VaultError> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new()
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

    /// The text that was sealed with this key for this place.
    pub(super) fn open(&self, place: &str, sealed: &str) -> Option<String> {
        let bytes = BASE64.decode(sealed).ok()?;
        let (nonce, bytes) = bytes.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut bytes = bytes.to_vec();
        let text = self
            .key
            .open_in_place(nonce, Aad::from(place.as_bytes()), &mut bytes)
            .ok()?;
        String::from_utf8(text.to_vec()).ok()
    }
}
