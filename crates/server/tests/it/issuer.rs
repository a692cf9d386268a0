//! A provider of `OpenID` Connect on this machine, which can also misbehave.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD as BASE64URL};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

pub(crate) const CLIENT: &str = "deft";
pub(crate) const SECRET: &str = "s-of+deft";

/// How it signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signing {
    Ec,
    Rsa,
    /// With a key that it does not show.
    Foreign,
    /// Not at all, and says so.
    None,
    /// With its public key as if that were a secret.
    Confused,
}

#[derive(Clone)]
pub(crate) struct Issuer(Arc<Inner>);

struct Inner {
    address: SocketAddr,
    ec: EcdsaKeyPair,
    foreign: EcdsaKeyPair,
    rsa: Option<RsaKeyPair>,
    codes: Mutex<HashMap<String, HashMap<String, String>>>,
    behaviour: Mutex<Behaviour>,
}

struct Behaviour {
    signing: Signing,
    /// What it says about whoever signs in, and otherwise than it should.
    claims: Value,
    /// Under which name it speaks of itself.
    name: Option<String>,
}

impl Issuer {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = Self(Arc::new(Inner {
            address: listener.local_addr().unwrap(),
            ec: new_ec(),
            foreign: new_ec(),
            rsa: new_rsa(),
            codes: Mutex::default(),
            behaviour: Mutex::new(Behaviour {
                signing: Signing::Ec,
                claims: json!({}),
                name: None,
            }),
        }));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/keys", get(keys))
            .with_state(issuer.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        issuer
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.0.address)
    }

    /// What it says from now on about whoever signs in.
    pub(crate) fn say(&self, claims: Value) {
        self.0.behaviour.lock().unwrap().claims = claims;
    }

    /// How it signs from now on. False: it cannot.
    pub(crate) fn sign(&self, signing: Signing) -> bool {
        self.0.behaviour.lock().unwrap().signing = signing;
        signing != Signing::Rsa || self.0.rsa.is_some()
    }

    pub(crate) fn call_itself(&self, name: &str) {
        self.0.behaviour.lock().unwrap().name = Some(name.to_owned());
    }

    fn signed(&self, claims: &Value) -> String {
        let signing = self.0.behaviour.lock().unwrap().signing;
        let (alg, kid) = match signing {
            Signing::Ec | Signing::Foreign => ("ES256", "ec"),
            Signing::Rsa => ("RS256", "rsa"),
            Signing::None => ("none", "ec"),
            Signing::Confused => ("HS256", "ec"),
        };
        let part = |value: &Value| BASE64URL.encode(value.to_string());
        let text = format!("{}.{}", part(&json!({"alg": alg, "kid": kid})), part(claims));
        let random = SystemRandom::new();
        let signature = match signing {
            Signing::Ec => self
                .0
                .ec
                .sign(&random, text.as_bytes())
                .unwrap()
                .as_ref()
                .to_vec(),
            Signing::Foreign => self
                .0
                .foreign
                .sign(&random, text.as_bytes())
                .unwrap()
                .as_ref()
                .to_vec(),
            Signing::Rsa => {
                let key = self.0.rsa.as_ref().unwrap();
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature)
                    .unwrap();
                signature
            }
            Signing::None => Vec::new(),
            Signing::Confused => {
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, self.0.ec.public_key().as_ref());
                ring::hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
            }
        };
        format!("{text}.{}", BASE64URL.encode(signature))
    }
}

fn new_ec() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random).unwrap()
}

/// `ring` makes no such keys; `openssl` does, where it is.
fn new_rsa() -> Option<RsaKeyPair> {
    let made = std::process::Command::new("openssl")
        .args([
            "genpkey",
            "-algorithm",
            "RSA",
            "-pkeyopt",
            "rsa_keygen_bits:2048",
            "-outform",
            "DER",
        ])
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    RsaKeyPair::from_pkcs8(&made.stdout).ok()
}

async fn metadata(State(issuer): State<Issuer>) -> Json<Value> {
    let url = issuer.url();
    let name = issuer.0.behaviour.lock().unwrap().name.clone();
    Json(
        json!({"issuer": name.unwrap_or_else(|| url.clone()), "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"), "jwks_uri": format!("{url}/keys"),
        "token_endpoint_auth_methods_supported": ["client_secret_basic"]}),
    )
}

async fn keys(State(issuer): State<Issuer>) -> Json<Value> {
    let point = issuer.0.ec.public_key().as_ref();
    let (x, y) = point[1..].split_at(32);
    let mut keys = vec![
        json!({"kty": "EC", "kid": "ec", "use": "sig", "alg": "ES256", "crv": "P-256",
            "x": BASE64URL.encode(x), "y": BASE64URL.encode(y)}),
    ];
    if let Some(rsa) = &issuer.0.rsa {
        let public = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(rsa.public());
        keys.push(json!({"kty": "RSA", "kid": "rsa", "n": BASE64URL.encode(public.n), "e": BASE64URL.encode(public.e)}));
    }
    Json(json!({ "keys": keys }))
}

/// Agrees without asking anybody.
async fn authorize(State(issuer): State<Issuer>, RawQuery(query): RawQuery) -> Response {
    let asked: HashMap<String, String> = form(query.unwrap_or_default().as_bytes());
    assert_eq!(asked["client_id"], CLIENT);
    assert_eq!(
        (
            asked["response_type"].as_str(),
            asked["code_challenge_method"].as_str()
        ),
        ("code", "S256")
    );
    assert!(asked["scope"].contains("openid"));
    let code = uuid::Uuid::new_v4().to_string();
    let back = format!(
        "{}?code={code}&state={}&iss={}",
        asked["redirect_uri"],
        asked["state"],
        issuer.url()
    );
    issuer.0.codes.lock().unwrap().insert(code, asked);
    (StatusCode::FOUND, [(header::LOCATION, back)]).into_response()
}

async fn token(State(issuer): State<Issuer>, headers: HeaderMap, body: String) -> Response {
    let refused = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response();
    let secret: String = form_urlencoded::byte_serialize(SECRET.as_bytes()).collect();
    let expected = format!("Basic {}", STANDARD.encode(format!("{CLIENT}:{secret}")));
    if headers
        .get(header::AUTHORIZATION)
        .is_none_or(|given| *given != expected)
    {
        return refused("invalid_client");
    }
    let sent = form(body.as_bytes());
    let Some(asked) = issuer.0.codes.lock().unwrap().remove(&sent["code"]) else {
        return refused("invalid_grant");
    };
    let challenge = BASE64URL.encode(ring::digest::digest(
        &ring::digest::SHA256,
        sent["code_verifier"].as_bytes(),
    ));
    if challenge != asked["code_challenge"] || sent["redirect_uri"] != asked["redirect_uri"] {
        return refused("invalid_grant");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut claims = json!({"iss": issuer.url(), "aud": CLIENT, "sub": "subject-1", "iat": now, "exp": now + 300,
        "nonce": asked["nonce"]});
    let said = issuer.0.behaviour.lock().unwrap().claims.clone();
    for (name, value) in said.as_object().unwrap() {
        claims[name] = value.clone();
    }
    Json(json!({"access_token": "unused", "token_type": "Bearer", "id_token": issuer.signed(&claims)}))
        .into_response()
}

fn form(text: &[u8]) -> HashMap<String, String> {
    form_urlencoded::parse(text).into_owned().collect()
}
