//! Shows a receiver that a request is ours, and not an old one: the headers of the Standard Webhooks
//! specification, which has libraries that check them.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use deft_types::Secret;
use ring::hmac;

/// How a secret begins that is written in base64.
const ENCODED: &str = "whsec_";

/// The headers of a request: its id, when it is sent, and the signature of both and of the body.
pub(super) fn headers(
    secret: Option<&Secret<String>>,
    id: &str,
    body: &str,
    now: SystemTime,
) -> Vec<(&'static str, String)> {
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut headers = vec![
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", seconds.to_string()),
    ];
    if let Some(secret) = secret {
        let tag = hmac::sign(&key(secret), format!("{id}.{seconds}.{body}").as_bytes());
        headers.push(("webhook-signature", format!("v1,{}", BASE64.encode(tag))));
    }
    headers
}

fn key(secret: &Secret<String>) -> hmac::Key {
    let secret = secret.expose();
    let decoded = secret
        .strip_prefix(ENCODED)
        .and_then(|text| BASE64.decode(text).ok());
    hmac::Key::new(
        hmac::HMAC_SHA256,
        &decoded.unwrap_or_else(|| secret.as_bytes().to_vec()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_signature_is_the_one_of_the_specification() {
        // Its own example.
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned());
        let sent = UNIX_EPOCH + Duration::from_secs(1_614_265_330);
        let headers = headers(
            Some(&secret),
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            r#"{"test": 2432232314}"#,
            sent,
        );
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(headers[2], ("webhook-signature", expected.to_owned()));
    }
}
