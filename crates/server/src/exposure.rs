//! In which form secrets of settings leave the server.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use deft_types::UserId;
use serde_json::Value;

use crate::failure::Failure;
use crate::masking::{Mask, each_secret, mask};
use crate::vault::Vault;

/// The header by which a client asks for secrets.
pub(crate) const HEADER: &str = "x-expose-secrets";
/// What sealed secrets begin with, so that they are known when they come back.
const SEALED: &str = "deft-sealed:";
/// Whom they are sealed for: the text of one user opens for no other.
#[derive(Clone, Copy)]
pub(crate) struct ClientSeal<'a> {
    pub(crate) vault: &'a Vault,
    pub(crate) user: Option<UserId>,
}

impl ClientSeal<'_> {
    fn place(self) -> String {
        let user = self.user.map(|user| format!("/{}", user.hex()));
        format!("client{}", user.unwrap_or_default())
    }
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exposure {
    /// Nothing: a mask stands for them.
    Masked,
    /// Sealed: the client can only hand them back to us.
    Encrypted,
    /// As they are.
    Plaintext,
}

impl<S: Send + Sync> FromRequestParts<S> for Exposure {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let Some(value) = parts.headers.get(HEADER) else {
            return Ok(Self::Masked);
        };
        match value.to_str().unwrap_or_default().to_ascii_lowercase().as_str() {
            "encrypted" => Ok(Self::Encrypted),
            "plaintext" => Ok(Self::Plaintext),
            other => Err(Failure::new(
                StatusCode::BAD_REQUEST,
                format!(
                    "Invalid X-Expose-Secrets header value: '{other}'. \
                     Valid values are: 'encrypted', 'plaintext'."
                ),
            )),
        }
    }
}

impl Exposure {
    /// The value as it may leave.
    pub(crate) fn apply(self, mut value: Value, mask_with: Mask, seal: ClientSeal) -> Result<Value, Failure> {
        match self {
            Self::Masked => mask(&mut value, mask_with),
            Self::Plaintext => {}
            Self::Encrypted => each_secret(&mut value, &mut |secret| {
                let text = secret.as_str().unwrap_or_default();
                *secret = format!("{SEALED}{}", seal.vault.seal(&seal.place(), text)?).into();
                Ok::<_, Failure>(())
            })?,
        }
        Ok(value)
    }
}

/// Opens every sealed secret of a value that a client hands back.
pub(crate) fn unseal(value: &mut Value, seal: ClientSeal) -> Result<(), Failure> {
    match value {
        Value::String(text) => {
            if let Some(sealed) = text.strip_prefix(SEALED) {
                let opened = seal.vault.open_sealed(&seal.place(), sealed).map_err(|_| {
                    Failure::refused(
                        "An encrypted secret cannot be read: it was not encrypted by this server for you",
                    )
                })?;
                *text = opened;
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| unseal(item, seal)),
        Value::Object(fields) => fields.values_mut().try_for_each(|field| unseal(field, seal)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::VaultKeys;
    use serde_json::json;

    #[test]
    fn what_is_sealed_for_one_user_opens_for_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let vault = Vault::open(VaultKeys::of(directory.path(), |_| None)).unwrap();
        let [ann, bob] = [1, 2].map(|n| Some(UserId(uuid::Uuid::from_u128(n))));
        let seal = |user| ClientSeal { vault: &vault, user };
        let secret = json!({"llm": {"api_key": "sk-anns"}});
        let sealed = Exposure::Encrypted
            .apply(secret.clone(), Mask::Null, seal(ann))
            .unwrap();
        assert_ne!(sealed, secret);
        for other in [bob, None] {
            assert!(unseal(&mut sealed.clone(), seal(other)).is_err());
        }
        let mut opened = sealed;
        unseal(&mut opened, seal(ann)).unwrap();
        assert_eq!(opened, secret);
    }
}
