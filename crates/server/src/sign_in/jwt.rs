//! Signed tokens: who has signed one.
//!
//! Only signatures by a key of the provider count. What a token says of itself decides nothing but which of these keys
//! and which of a few algorithms to try: `none` and those with a shared secret are not among them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;

use super::Refusal;

/// The longest token that is looked at.
const MAX_TOKEN: usize = 64 * 1024;

/// The keys that a provider signs with.
#[derive(Deserialize)]
pub(super) struct Keys {
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood: we understand none.
    crit: Option<Value>,
}

/// What a token says, if one of the keys has signed it.
pub(super) fn verify(token: &str, keys: &Keys) -> Result<Value, Refusal> {
    let broken = || Refusal::Token("it is no signed token");
    if token.len() > MAX_TOKEN {
        return Err(broken());
    }
    let (signed, signature) = token.rsplit_once('.').ok_or_else(broken)?;
    let (header, payload) = signed.split_once('.').ok_or_else(broken)?;
    let read = |part: &str| BASE64URL.decode(part).map_err(|_| broken());
    let header: Header = serde_json::from_slice(&read(header)?).map_err(|_| broken())?;
    if header.crit.is_some() {
        return Err(Refusal::Token("it has extensions that are not known here"));
    }
    let signature = read(signature)?;
    let fits = |key: &&Jwk| {
        key.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && key.alg.as_ref().is_none_or(|alg| *alg == header.alg)
            && (header.kid.is_none() || header.kid == key.kid)
    };
    let is_signed = |key: &Jwk| key.has_signed(&header.alg, signed.as_bytes(), &signature);
    if !keys.keys.iter().filter(fits).any(is_signed) {
        return Err(Refusal::Token("no key of the provider has signed it"));
    }
    serde_json::from_slice(&read(payload)?).map_err(|_| broken())
}

impl Jwk {
    fn has_signed(&self, alg: &str, message: &[u8], signature: &[u8]) -> bool {
        match (alg, self.kty.as_str()) {
            ("RS256", "RSA") => self.rsa(&RSA_PKCS1_2048_8192_SHA256, message, signature),
            ("RS384", "RSA") => self.rsa(&RSA_PKCS1_2048_8192_SHA384, message, signature),
            ("RS512", "RSA") => self.rsa(&RSA_PKCS1_2048_8192_SHA512, message, signature),
            ("PS256", "RSA") => self.rsa(&RSA_PSS_2048_8192_SHA256, message, signature),
            ("ES256", "EC") => self.ec("P-256", &ECDSA_P256_SHA256_FIXED, message, signature),
            ("ES384", "EC") => self.ec("P-384", &ECDSA_P384_SHA384_FIXED, message, signature),
            _ => false,
        }
    }

    fn rsa(&self, how: &RsaParameters, message: &[u8], signature: &[u8]) -> bool {
        let (Some(n), Some(e)) = (decoded(self.n.as_deref()), decoded(self.e.as_deref())) else {
            return false;
        };
        let key = RsaPublicKeyComponents { n, e };
        key.verify(how, message, signature).is_ok()
    }

    fn ec(
        &self,
        curve: &str,
        how: &'static dyn VerificationAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        let (Some(x), Some(y)) = (decoded(self.x.as_deref()), decoded(self.y.as_deref())) else {
            return false;
        };
        let point = [&[4], x.as_slice(), &y].concat(); // not compressed
        self.crv.as_deref() == Some(curve)
            && UnparsedPublicKey::new(how, point)
                .verify(message, signature)
                .is_ok()
    }
}

fn decoded(text: Option<&str>) -> Option<Vec<u8>> {
    BASE64URL.decode(text?).ok()
}
