//! How a request proves who it is from: the forms that `auth` may have.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use deft_types::Secret;
use serde::Deserialize;
use serde_json::Value;

/// How to get a token by OAuth.
#[derive(Clone, Debug, Default)]
pub struct OAuth {
    /// The client's id, where it was registered by hand.
    pub client_id: Option<String>,
    /// Its secret, if it has one.
    pub client_secret: Option<Secret<String>>,
    /// What to ask for; the server's own choice where nothing is said.
    pub scopes: Vec<String>,
    /// By which name we register.
    pub client_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "strategy", rename_all = "snake_case")]
enum Strategy {
    None,
    ApiKey {
        value: Secret<String>,
        header_name: Option<String>,
    },
    Bearer {
        value: Secret<String>,
    },
    Basic {
        username: String,
        password: Option<Secret<String>>,
    },
    Header {
        #[serde(default)]
        headers: std::collections::BTreeMap<String, Secret<String>>,
    },
    Oauth2 {
        authentication: Option<Registered>,
    },
}

#[derive(Default, Deserialize)]
struct Registered {
    client_id: Option<String>,
    client_secret: Option<Secret<String>>,
    scopes: Option<Scopes>,
    client_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scopes {
    Text(String),
    List(Vec<String>),
}

type Headers = Vec<(String, Secret<String>)>;

/// The headers that `auth` stands for, and how to get a token if it says so.
pub(super) fn read(auth: Option<&Value>) -> Result<(Headers, Option<OAuth>), String> {
    const AUTHORIZATION: &str = "Authorization";
    let bearer = |token: &str| {
        let value = Secret::new(format!("Bearer {token}"));
        vec![(AUTHORIZATION.to_owned(), value)]
    };
    let strategy = match auth {
        None | Some(Value::Null) => return Ok((Headers::new(), None)),
        Some(Value::String(word)) if word == "oauth" => return Ok((Headers::new(), Some(OAuth::default()))),
        Some(Value::String(token)) => return Ok((bearer(token), None)),
        Some(auth) => Strategy::deserialize(auth).map_err(|_| {
            "its `auth` cannot be read: write \"oauth\", a token, or {\"strategy\": …} with none, api_key, bearer, \
             basic, header or oauth2"
                .to_owned()
        })?,
    };
    Ok(match strategy {
        Strategy::None => (Headers::new(), None),
        Strategy::ApiKey {
            value,
            header_name: None,
        }
        | Strategy::Bearer { value } => (bearer(value.expose()), None),
        Strategy::ApiKey {
            value,
            header_name: Some(name),
        } => (vec![(name, value)], None),
        Strategy::Basic { username, password } => {
            let password = password.as_ref().map_or("", |password| password.expose());
            let value = format!("Basic {}", STANDARD.encode(format!("{username}:{password}")));
            (vec![(AUTHORIZATION.to_owned(), Secret::new(value))], None)
        }
        Strategy::Header { headers } => (headers.into_iter().collect(), None),
        Strategy::Oauth2 { authentication } => {
            let registered = authentication.unwrap_or_default();
            let scopes = match registered.scopes {
                None => Vec::new(),
                Some(Scopes::Text(text)) => text.split_whitespace().map(str::to_owned).collect(),
                Some(Scopes::List(list)) => list,
            };
            let oauth = OAuth {
                client_id: registered.client_id,
                client_secret: registered.client_secret,
                scopes,
                client_name: registered.client_name,
            };
            (Headers::new(), Some(oauth))
        }
    })
}
