//! Models on AWS Bedrock, over its Converse API.

mod body;
mod event;
mod frame;
mod profile;
mod reader;
mod role;
mod settings;
mod sigv4;

use std::time::SystemTime;

use deft_types::{Secret, Tokens};
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::json;

pub use self::profile::AwsProfileError;
use self::reader::ReplyReader;
pub(crate) use self::role::RoleModel;
pub use self::settings::{AwsKeys, AwsRole, AwsSettings};
use self::sigv4::{Signer, encode};
use crate::api::{AnswerReader, Api, Post, secret_header};
use crate::claude::Thinking;
use crate::count::Question;
use crate::open::admitted;
use crate::{ModelError, ModelProfile, ModelSettings, OpenModelError, Request, Tuning};

/// The service's name in signatures.
const SERVICE: &str = "bedrock";

/// Bedrock's Converse API, set up for one model.
pub(crate) struct BedrockApi {
    /// Where requests go.
    url: Url,
    access: Access,
    context_window: Option<Tokens>,
    max_output: Option<Tokens>,
    accepts_images: bool,
    thinking: Option<Thinking>,
    takes_cache_marks: bool,
    /// Only what the model takes.
    tuning: Tuning,
}

/// How a request proves who sends it.
enum Access {
    Bearer(Secret<String>),
    Signature {
        signer: Signer,
        session_token: Option<Secret<String>>,
    },
    /// Not at all: a server of the user's own.
    Open,
}

/// A region, if it is one: it becomes part of an address that gets our key.
fn plain(region: &str) -> Result<&str, OpenModelError> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if region.bytes().all(is_plain) {
        return Ok(region);
    }
    Err(OpenModelError::BadBaseUrl {
        reason: format!("'{region}' is no region of AWS"),
    })
}

impl BedrockApi {
    /// Sets the API up for what stands behind `bedrock/` in a model's name: a model's id or ARN, perhaps with
    /// its region and a slash before it. `base_url` holds the region as `{region}`.
    pub(crate) fn new(
        wire_name: &str,
        base_url: &str,
        api_key: Option<Secret<String>>,
        settings: &ModelSettings,
        profile: &ModelProfile,
    ) -> Result<Self, OpenModelError> {
        let wire_name = wire_name.strip_prefix("converse/").unwrap_or(wire_name);
        let (own_region, model) = match wire_name.split_once('/') {
            Some((region, model)) if !region.contains([':', '.']) => (Some(region), model),
            _ => (None, wire_name),
        };
        let aws = settings.aws.as_ref();
        let region = || {
            let region = own_region.or(aws.and_then(|aws| aws.region.as_deref()));
            plain(region.ok_or_else(|| missing(profile, "a region: set `AWS_REGION`"))?)
        };
        let mut url = match &settings.base_url {
            Some(url) => url.clone(),
            None => base_url.replace("{region}", region()?),
        };
        url = format!(
            "{}/model/{}/converse-stream",
            url.trim_end_matches('/'),
            encode(model)
        );
        let url = admitted(&url, settings.reach)?;
        let access = match (api_key, aws.and_then(|aws| aws.keys.as_ref())) {
            (Some(key), _) => Access::Bearer(key),
            (None, Some(keys)) => Access::Signature {
                signer: Signer {
                    access_key_id: keys.access_key_id.clone(),
                    secret_access_key: keys.secret_access_key.clone(),
                    region: region()?.to_owned(),
                    service: SERVICE,
                },
                session_token: keys.session_token.clone(),
            },
            (None, None) if settings.base_url.is_some() => Access::Open,
            (None, None) => {
                let keys = "credentials: set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, \
                            or `AWS_BEARER_TOKEN_BEDROCK`";
                return Err(missing(profile, keys));
            }
        };
        Ok(Self {
            url,
            access,
            context_window: profile.context_window,
            max_output: profile.max_output,
            accepts_images: profile.capabilities.vision,
            thinking: profile.max_output.and_then(|max_output| {
                Thinking::of(
                    profile.capabilities.thinking,
                    settings.extended_thinking_budget,
                    max_output,
                )
            }),
            takes_cache_marks: profile.capabilities.explicit_cache_markers,
            tuning: settings.tuning.clone().for_model(&profile.capabilities),
        })
    }

    fn unsigned(&self, request: &Request) -> Result<Post, ModelError> {
        Ok(Post {
            url: self.url.clone(),
            headers: HeaderMap::new(),
            body: body::of(self, request)?,
        })
    }

    fn sign(&self, post: &mut Post, moment: SystemTime) -> Result<(), ModelError> {
        let (signer, session_token) = match &self.access {
            Access::Open => return Ok(()),
            Access::Bearer(key) => {
                let bearer = secret_header(&format!("Bearer {}", key.expose()))?;
                post.headers.insert(AUTHORIZATION, bearer);
                return Ok(());
            }
            Access::Signature {
                signer,
                session_token,
            } => (signer, session_token),
        };
        let headers = signer.headers(&post.url, &post.body, session_token.as_ref(), moment)?;
        post.headers.extend(headers);
        Ok(())
    }
}

impl Api for BedrockApi {
    fn post(&self, request: &Request) -> Result<Post, ModelError> {
        let mut post = self.unsigned(request)?;
        let accepted = HeaderValue::from_static("application/vnd.amazon.eventstream");
        post.headers.insert(ACCEPT, accepted);
        self.sign(&mut post, SystemTime::now())?;
        Ok(post)
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(ReplyReader::default())
    }

    fn count(&self, request: &Request) -> Option<Question> {
        let mut post = self.unsigned(request).ok()?;
        let fields = post.fields(&["messages", "system", "toolConfig", "additionalModelRequestFields"])?;
        let mut url = post.url.clone();
        let path = url.path().strip_suffix("converse-stream")?;
        url.set_path(&format!("{path}count-tokens"));
        post = post.to(url, &json!({ "input": { "converse": fields } }));
        self.sign(&mut post, SystemTime::now()).ok()?;
        Some(Question::new(post, "/inputTokens"))
    }
}

fn missing(profile: &ModelProfile, what: &'static str) -> OpenModelError {
    OpenModelError::MissingAws {
        name: profile.name.clone(),
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_a_region_or_be_an_arn() {
        let settings = ModelSettings {
            aws: Some(AwsSettings {
                region: Some("eu-west-1".to_owned()),
                ..AwsSettings::default()
            }),
            ..ModelSettings::default()
        };
        let profile = ModelProfile {
            name: "bedrock/x".to_owned(),
            context_window: None,
            max_output: None,
            prices: None,
            capabilities: crate::Capabilities::default(),
        };
        let cases = [
            ("amazon.nova-pro-v1:0", "eu-west-1", "amazon.nova-pro-v1%3A0"),
            (
                "us-east-1/amazon.nova-pro-v1:0",
                "us-east-1",
                "amazon.nova-pro-v1%3A0",
            ),
            ("converse/amazon.nova-lite", "eu-west-1", "amazon.nova-lite"),
            (
                "arn:aws:bedrock:eu-west-1:1:inference-profile/x",
                "eu-west-1",
                "arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Fx",
            ),
        ];
        for (name, region, id) in cases {
            let key = Some(Secret::new("token".to_owned()));
            let api = BedrockApi::new(name, "https://{region}.aws", key, &settings, &profile).unwrap();
            assert_eq!(
                api.url.as_str(),
                format!("https://{region}.aws/model/{id}/converse-stream")
            );
        }
    }
}
