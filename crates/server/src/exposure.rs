//! In which form secrets of settings leave the server.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde_json::Value;

use crate::failure::Failure;
use crate::masking::{Mask, each_secret, mask};
use crate::vault::Vault;

/// The header by which a client asks for secrets.
pub(crate) const HEADER: &str = "x-expose-secrets";
/// What sealed secrets begin with, so that they are known when they come back.
const SEALED: &str = "deft-sealed:";
/// What they are sealed for.
const PLACE: &str = "client";

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
    pub(crate) fn apply(self, mut value: Value, mask_with: Mask, vault: &Vault) -> Result<Value, Failure> {
        match self {
            Self::Masked => mask(&mut value, mask_with),
            Self::Plaintext => {}
            Self::Encrypted => each_secret(&mut value, &mut |secret| {
                let text = secret.as_str().unwrap_or_default();
                *secret = format!("{SEALED}{}", vault.seal(PLACE, text)?).into();
                Ok::<_, Failure>(())
            })?,
        }
        Ok(value)
    }
}

/// Opens every sealed secret of a value that a client hands back.
pub(crate) fn unseal(value: &mut Value, vault: &Vault) -> Result<(), Failure> {
    match value {
        Value::String(text) => {
            if let Some(sealed) = text.strip_prefix(SEALED) {
                let opened = vault.open_sealed(PLACE, sealed).map_err(|_| {
                    Failure::refused(
                        "An encrypted secret cannot be read: it was not encrypted by this server",
                    )
                })?;
                *text = opened;
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| unseal(item, vault)),
        Value::Object(fields) => fields.values_mut().try_for_each(|field| unseal(field, vault)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}
