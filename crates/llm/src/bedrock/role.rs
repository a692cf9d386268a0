//! Models that are asked as somebody else: the owner of keys takes on a role, for which there are others for an hour.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deft_types::Secret;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, TryStreamExt};
use reqwest::{Client, StatusCode, Url};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::sigv4::Signer;
use super::{AwsKeys, AwsRole, AwsSettings, plain};
use crate::count::count_here;
use crate::http::{base_address, excerpt, new_client};
use crate::open::{build, no_client};
use crate::{
    Delta, Model, ModelError, ModelProfile, ModelSettings, OpenModelError, Reach, Request, TokenCount,
};

/// How long AWS may take to give keys.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer.
const MAX_ANSWER: usize = 64 * 1024;
/// Keys are asked for again so long before they end.
const SPARE: Duration = Duration::from_mins(5);
/// Where keys are asked for in a region; and in which, where none is said.
const ADDRESS: &str = "https://sts.{region}.amazonaws.com/";
const USUAL_REGION: &str = "us-east-1";

/// A model of which each request is signed with keys for a role.
pub(crate) struct RoleModel(Arc<Inner>);

struct Inner {
    name: String,
    settings: ModelSettings,
    aws: AwsSettings,
    role: AwsRole,
    /// The same as its owner would ask it, for what is known of it.
    as_owner: Arc<dyn Model>,
    client: Client,
    address: Url,
    /// The model with the keys of the moment, and when those are to be renewed.
    current: Mutex<Option<(Arc<dyn Model>, SystemTime)>>,
}

impl RoleModel {
    /// `aws` are the settings whose owner takes on `role`.
    pub(crate) fn new(
        name: &str,
        settings: &ModelSettings,
        aws: &AwsSettings,
        role: &AwsRole,
    ) -> Result<Self, OpenModelError> {
        let aws = AwsSettings {
            role: None,
            ..aws.clone()
        };
        let settings = ModelSettings {
            aws: Some(aws.clone()),
            api_key: None,
            ..settings.clone()
        };
        let as_owner = build(name, &settings)?; // it says what is missing
        let region = plain(aws.region.as_deref().unwrap_or(USUAL_REGION))?;
        let address = role.endpoint.clone();
        let address = address.unwrap_or_else(|| ADDRESS.replace("{region}", region));
        let address = base_address(&address).map_err(|error| OpenModelError::BadBaseUrl {
            reason: error.to_string(),
        })?;
        let headers = Vec::new(); // those of the user's are for the model
        let client = new_client(&ModelSettings {
            extra_headers: headers,
            // Another address than AWS's own is said by whoever runs this.
            reach: role.endpoint.as_ref().map_or(settings.reach, |_| Reach::Anywhere),
            ..settings.clone()
        });
        Ok(Self(Arc::new(Inner {
            name: name.to_owned(),
            settings,
            aws,
            role: role.clone(),
            as_owner,
            client: client.map_err(|error| no_client(&error))?,
            address,
            current: Mutex::new(None),
        })))
    }
}

impl Model for RoleModel {
    fn profile(&self) -> &ModelProfile {
        self.0.as_owner.profile()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let inner = Arc::clone(&self.0);
        let reply = async move { Ok::<_, ModelError>(inner.model().await?.stream(request)) };
        Box::pin(reply.into_stream().try_flatten())
    }

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        let inner = Arc::clone(&self.0);
        let count = async move {
            match inner.model().await {
                Ok(model) => model.count(request).await,
                Err(_) => count_here(inner.name.clone(), request).await,
            }
        };
        count.boxed()
    }
}

impl Inner {
    /// The model with keys that still count. Who comes meanwhile waits for the same.
    async fn model(&self) -> Result<Arc<dyn Model>, ModelError> {
        let mut current = self.current.lock().await;
        if let Some((model, renewal)) = &*current
            && SystemTime::now() < *renewal
        {
            return Ok(Arc::clone(model));
        }
        let (keys, end) = timeout(PATIENCE, self.take_on())
            .await
            .map_err(|_| ModelError::Timeout {
                detail: "AWS gave no keys for the role in time".to_owned(),
            })??;
        let aws = AwsSettings {
            keys: Some(keys),
            ..self.aws.clone()
        };
        let settings = ModelSettings {
            aws: Some(aws),
            ..self.settings.clone()
        };
        let model = build(&self.name, &settings).map_err(|error| ModelError::Protocol {
            detail: error.to_string(),
        })?;
        let renewal = end.checked_sub(SPARE).unwrap_or(end);
        *current = Some((Arc::clone(&model), renewal));
        Ok(model)
    }

    /// Asks for keys for the role, and when they end.
    async fn take_on(&self) -> Result<(AwsKeys, SystemTime), ModelError> {
        let refused = |detail: String| ModelError::Authentication { detail };
        let keys = self.aws.keys.as_ref();
        let keys = keys.ok_or_else(|| refused("there are no keys that could take on a role".to_owned()))?;
        let body = form_urlencoded::Serializer::new(String::new())
            .append_pair("Action", "AssumeRole")
            .append_pair("Version", "2011-06-15")
            .append_pair("RoleArn", &self.role.arn)
            .append_pair("RoleSessionName", &self.role.session)
            .finish();
        let signer = Signer {
            access_key_id: keys.access_key_id.clone(),
            secret_access_key: keys.secret_access_key.clone(),
            region: self.aws.region.clone().unwrap_or_else(|| USUAL_REGION.to_owned()),
            service: "sts",
        };
        let token = keys.session_token.as_ref();
        let headers = signer.headers(&self.address, body.as_bytes(), token, SystemTime::now())?;
        let request = self.client.post(self.address.clone()).headers(headers);
        let request = request.header(reqwest::header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let network = |error: reqwest::Error| ModelError::Network {
            detail: format!(
                "no keys for the role could be asked for: {}",
                deft_net::root_cause(&error.without_url())
            ),
        };
        let mut answer = request.body(body).send().await.map_err(network)?;
        let status = answer.status();
        let mut text = Vec::new();
        while let Some(bytes) = answer.chunk().await.map_err(network)?
            && text.len() < MAX_ANSWER
        {
            text.extend_from_slice(&bytes);
        }
        let text = String::from_utf8_lossy(&text);
        if !status.is_success() {
            let why = element(&text, "Message").unwrap_or_else(|| excerpt(&text));
            let detail = format!(
                "AWS gives no keys for the role {} ({status}): {why}",
                self.role.arn
            );
            // The next try may have more luck.
            let is_passing = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
            return Err(if is_passing {
                ModelError::Unavailable { detail }
            } else {
                refused(detail)
            });
        }
        read(&text).ok_or_else(|| ModelError::Protocol {
            detail: "AWS answered without keys for the role".to_owned(),
        })
    }
}

/// The keys in an answer, and when they end.
fn read(answer: &str) -> Option<(AwsKeys, SystemTime)> {
    let end: jiff::Timestamp = element(answer, "Expiration")?.parse().ok()?;
    let keys = AwsKeys {
        access_key_id: element(answer, "AccessKeyId")?,
        secret_access_key: Secret::new(element(answer, "SecretAccessKey")?),
        session_token: Some(Secret::new(element(answer, "SessionToken")?)),
    };
    Some((keys, end.into()))
}

/// What stands in the first element of this name. None that is read here has others in it, or characters that XML
/// writes in another way.
fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(text.trim().to_owned())
}
