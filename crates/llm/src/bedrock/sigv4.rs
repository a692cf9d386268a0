//! Signs requests the way AWS wants it: Signature Version 4.
//!
//! The signature covers the method, the address, the given headers and the body. `aws-sigv4` does the same
//! and costs sixty crates; this needs the HMAC that TLS has brought along.

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::time::SystemTime;

use deft_types::Secret;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use ring::{digest, hmac};

use crate::ModelError;
use crate::api::secret_header;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// What a request is signed with.
pub(super) struct Signer {
    pub(super) access_key_id: String,
    pub(super) secret_access_key: Secret<String>,
    pub(super) region: String,
    pub(super) service: &'static str,
}

/// A moment as AWS writes it: `20150830T123600Z`.
fn amz_date(moment: SystemTime) -> String {
    jiff::Timestamp::try_from(moment)
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .strftime("%Y%m%dT%H%M%SZ")
        .to_string()
}

impl Signer {
    /// The headers with which a request proves who sends it. A key for a limited time comes with a token.
    pub(super) fn headers(
        &self,
        url: &Url,
        body: &[u8],
        token: Option<&Secret<String>>,
        moment: SystemTime,
    ) -> Result<HeaderMap, ModelError> {
        const TOKEN: &str = "x-amz-security-token";
        let date = amz_date(moment);
        let host = match (url.host_str().unwrap_or_default(), url.port()) {
            (host, Some(number)) => format!("{host}:{number}"),
            (host, None) => host.to_owned(),
        };
        let mut headers = HeaderMap::new();
        let mut covered = vec![("host", host.as_str()), ("x-amz-date", date.as_str())];
        if let Some(token) = token {
            covered.push((TOKEN, token.expose()));
            headers.insert(TOKEN, secret_header(token.expose())?);
        }
        let authorization = self.authorization("POST", url, &date, &covered, body);
        headers.insert("x-amz-date", secret_header(&date)?);
        headers.insert(AUTHORIZATION, secret_header(&authorization)?);
        Ok(headers)
    }

    /// The `authorization` of a request. `headers` are those to cover, lower case and in order; one of them is
    /// the `x-amz-date`, which is given apart too.
    fn authorization(
        &self,
        method: &str,
        url: &Url,
        amz_date: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> String {
        let names = headers
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(";");
        let lines: String = headers
            .iter()
            .map(|(name, value)| format!("{name}:{}\n", value.trim()))
            .collect();
        let canonical = format!(
            "{method}\n{}\n{}\n{lines}\n{names}\n{}",
            canonical_path(url),
            canonical_query(url),
            hex(digest::digest(&digest::SHA256, body).as_ref()),
        );
        let day = amz_date.split('T').next().unwrap_or_default();
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let hash = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
        let signature = hex(hmac::sign(
            &self.key(day),
            format!("{ALGORITHM}\n{amz_date}\n{scope}\n{hash}").as_bytes(),
        )
        .as_ref());
        format!(
            "{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            self.access_key_id
        )
    }

    /// A key for one day, region and service.
    fn key(&self, day: &str) -> hmac::Key {
        let first = format!("AWS4{}", self.secret_access_key.expose());
        [day, &self.region, self.service, "aws4_request"].iter().fold(
            hmac::Key::new(hmac::HMAC_SHA256, first.as_bytes()),
            |key, part| hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, part.as_bytes()).as_ref()),
        )
    }
}

/// The path, encoded once more: only S3 takes it as it is sent.
fn canonical_path(url: &Url) -> String {
    url.path().split('/').map(encode).collect::<Vec<_>>().join("/")
}

fn canonical_query(url: &Url) -> String {
    let mut pairs: Vec<_> = url
        .query_pairs()
        .map(|(name, value)| (encode(&name), encode(&value)))
        .collect();
    pairs.sort();
    pairs
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join("&")
}

/// Percent-encodes everything but letters, digits and `-_.~`.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
