//! What a token says: for whom, from whom, how long, and about whom.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::Refusal;

/// How much the provider's clock and ours may differ.
const SKEW: u64 = 60;
/// The longest name of somebody at a provider.
const MAX_SUBJECT: usize = 255;

/// What it must say.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    pub(super) now: SystemTime,
}

/// Somebody, as the provider knows them.
#[derive(Clone, Debug)]
pub(super) struct Claims {
    /// Their name there, which never changes.
    pub(super) subject: String,
    /// Their address, if the provider knows that it is theirs.
    pub(super) email: Option<String>,
    /// What they call themselves.
    pub(super) nickname: Option<String>,
    /// All that is said.
    pub(super) all: Value,
}

/// Takes a token's word only if it is meant for us, now, for this login.
pub(super) fn check(token: &Value, expected: &Expected<'_>) -> Result<Claims, Refusal> {
    let refuse = |reason| Err(Refusal::Token(reason));
    if token["iss"].as_str() != Some(expected.issuer) {
        return refuse("it comes from another provider");
    }
    let audience: Vec<&str> = match &token["aud"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !audience.contains(&expected.client_id) {
        return refuse("it is meant for somebody else");
    }
    let party = token["azp"].as_str();
    if party.is_some_and(|party| party != expected.client_id) || audience.len() > 1 && party.is_none() {
        return refuse("it was given to somebody else");
    }
    let now = expected
        .now
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    let time = |name: &str| token[name].as_f64().filter(|time| *time >= 0.0);
    let is_past =
        |time: f64| Duration::try_from_secs_f64(time).is_ok_and(|time| time.as_secs() + SKEW <= now);
    let is_ahead =
        |time: f64| Duration::try_from_secs_f64(time).map_or(true, |time| time.as_secs() > now + SKEW);
    if time("exp").is_none_or(is_past) {
        return refuse("it has expired");
    }
    if time("iat").is_none_or(is_ahead) || time("nbf").is_some_and(is_ahead) {
        return refuse("it is not valid yet");
    }
    if token["nonce"].as_str() != Some(expected.nonce) {
        return refuse("it belongs to another login");
    }
    let subject = token["sub"].as_str().unwrap_or_default();
    if subject.is_empty() || subject.len() > MAX_SUBJECT {
        return refuse("it names nobody");
    }
    let is_verified = token["email_verified"] == true || token["email_verified"] == "true";
    let text = |name: &str| token[name].as_str().map(str::to_owned);
    Ok(Claims {
        subject: subject.to_owned(),
        email: text("email")
            .filter(|_| is_verified)
            .map(|email| email.to_ascii_lowercase()),
        nickname: text("preferred_username")
            .or_else(|| text("nickname"))
            .or_else(|| text("email")),
        all: token.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: u64 = 1_800_000_000;

    fn said(changes: &Value) -> Result<Claims, String> {
        let mut token = json!({"iss": "https://id.example.org", "aud": "deft", "sub": "u-1", "nonce": "n-1",
            "iat": NOW - 5, "exp": NOW + 300, "email": "Ann@Example.org", "email_verified": true});
        for (name, value) in changes.as_object().unwrap() {
            token[name] = value.clone();
        }
        let expected = Expected {
            issuer: "https://id.example.org",
            client_id: "deft",
            nonce: "n-1",
            now: UNIX_EPOCH + Duration::from_secs(NOW),
        };
        check(&token, &expected).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_token_must_be_for_us_and_for_now() {
        assert_eq!(
            said(&json!({})).unwrap().email.as_deref(),
            Some("ann@example.org")
        );
        assert!(said(&json!({"aud": ["deft", "other"], "azp": "deft"})).is_ok());
        assert!(said(&json!({"exp": NOW - 30})).is_ok(), "clocks differ");
        assert_eq!(said(&json!({"email_verified": false})).unwrap().email, None);
        for (wrong, reason) in [
            (json!({"iss": "https://id.example.org/"}), "another provider"),
            (json!({"aud": "other"}), "for somebody else"),
            (json!({"aud": []}), "for somebody else"),
            (json!({"aud": ["deft", "other"]}), "given to somebody else"),
            (json!({"azp": "other"}), "given to somebody else"),
            (json!({"exp": NOW - 61}), "expired"),
            (json!({"exp": null}), "expired"),
            (json!({"exp": -1}), "expired"),
            (json!({"iat": NOW + 120}), "not valid yet"),
            (json!({"iat": 1e300}), "not valid yet"),
            (json!({"iat": null}), "not valid yet"),
            (json!({"nbf": NOW + 120}), "not valid yet"),
            (json!({"nonce": "n-2"}), "another login"),
            (json!({"nonce": null}), "another login"),
            (json!({"sub": ""}), "nobody"),
            (json!({"sub": 7}), "nobody"),
        ] {
            let refused = said(&wrong).unwrap_err();
            assert!(refused.contains(reason), "{wrong}: {refused}");
        }
    }
}
