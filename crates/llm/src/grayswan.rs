//! Gray Swan's monitor: a service that says how much an action breaks rules. It is asked like a judge among models: the
//! question is the JSON that judges get (`before.user`, and the numbered `calls`), the answer a line with a verdict for each.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deft_types::Secret;
use futures::stream::BoxStream;
use reqwest::header::AUTHORIZATION;
use reqwest::{Client, Url};
use serde_json::{Value, json};

use crate::api::secret_header;
use crate::http::{fetch, new_client};
use crate::open::no_client;
use crate::{Delta, FinishReason, Model, ModelError, ModelProfile, ModelSettings, OpenModelError, Request};

/// How the monitor is reached, and what its score means.
#[derive(Clone, Debug)]
pub struct GraySwan {
    /// Where it is.
    pub url: String,
    /// What lets us in.
    pub api_key: Secret<String>,
    /// The rules that count.
    pub policy: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Up to this score an action is harmless, and up to the second one it is not grave.
    pub thresholds: [f64; 2],
    /// Certificates to trust beside the built-in ones.
    pub ca_file: Option<PathBuf>,
}

impl GraySwan {
    /// Where it is, and the rules, where nobody says otherwise.
    pub const URL: &str = "https://api.grayswan.ai/cygnal/monitor";
    /// See above.
    pub const POLICY: &str = "689ca4885af3538a39b2ba04";

    /// The monitor, to be asked like a model.
    pub fn open(self) -> Result<Arc<dyn Model>, OpenModelError> {
        let url = self.url.parse().map_err(|_| OpenModelError::BadBaseUrl {
            reason: format!("'{}' is no address", self.url),
        })?;
        let settings = ModelSettings {
            ca_file: self.ca_file.clone(),
            ..ModelSettings::default()
        };
        Ok(Arc::new(Monitor {
            profile: ModelProfile::unknown("grayswan"),
            client: new_client(&settings).map_err(|error| no_client(&error))?,
            url,
            settings: self,
        }))
    }

    /// The line about a call. What is no score at all has no verdict, and so counts as the worst.
    fn line(&self, number: &Value, answer: &Value) -> Result<String, ModelError> {
        let score = answer["violation"].as_f64().ok_or_else(|| ModelError::Protocol {
            detail: "the monitor gave no score".to_owned(),
        })?;
        let [low, medium] = self.thresholds;
        let word = match score {
            _ if answer["ipi"] == true => "HIGH", // it obeys somebody else
            score if score <= low => "LOW",
            score if score <= medium => "MEDIUM",
            _ => "HIGH",
        };
        Ok(format!("{number}: {word} the monitor's score is {score:.2}\n"))
    }
}

#[derive(Clone)]
struct Monitor {
    profile: ModelProfile,
    client: Client,
    url: Url,
    settings: GraySwan,
}

impl Monitor {
    async fn assess(&self, request: &Request) -> Result<String, ModelError> {
        let question = request.messages.iter().last().map(|message| message.plain_text());
        let question: Value = serde_json::from_str(&question.unwrap_or_default()).unwrap_or_default();
        let mut lines = String::new();
        for call in question["calls"].as_array().into_iter().flatten() {
            lines += &self
                .settings
                .line(&call["number"], &self.ask(&question["before"], call).await?)?;
        }
        Ok(lines)
    }

    async fn ask(&self, before: &Value, call: &Value) -> Result<Value, ModelError> {
        let function = json!({"name": call["tool"], "arguments": call["arguments"].to_string()});
        let call = json!({"id": call["number"].to_string(), "type": "function", "function": function});
        let mut messages = Vec::new();
        if let Some(said) = before["user"].as_str() {
            messages.push(json!({"role": "user", "content": said}));
        }
        messages.push(json!({"role": "assistant", "content": "", "tool_calls": [call]}));
        let body = json!({"messages": messages, "policy_id": self.settings.policy});
        let key = secret_header(&format!("Bearer {}", self.settings.api_key.expose()))?;
        let post = self
            .client
            .post(self.url.clone())
            .header(AUTHORIZATION, key)
            .json(&body);
        fetch(post, self.settings.timeout).await
    }
}

impl Model for Monitor {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let monitor = self.clone();
        Box::pin(async_stream::try_stream! {
            let lines = monitor.assess(&request).await?;
            yield Delta::Text(lines);
            yield Delta::Finished(FinishReason::Stop);
        })
    }
}
