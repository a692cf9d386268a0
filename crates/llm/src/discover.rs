//! Finds the model servers that run on this machine.

#[cfg(test)]
mod tests;

use std::time::Duration;

use deft_types::{Secret, Tokens};
use futures::StreamExt;
use futures::future::join_all;
use futures::stream;
use reqwest::{Client, RequestBuilder, Url};
use serde_json::{Value, json};

use crate::http::{self, fetch};
use crate::ollama::{self, Shown};
use crate::open::{address_of, provider_of};
use crate::{Ability, ModelFacts, ModelSettings, Prices};

/// How long a server on this machine may take for each answer.
pub const LOCAL_PATIENCE: Duration = Duration::from_millis(300);
/// How many models of one server are asked about at once.
const MAX_CONCURRENT_QUESTIONS: usize = 8;
/// How many models of one server are told.
const MAX_MODELS: usize = 200;

/// The programs that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// The server of llama.cpp.
    LlamaCpp,
    /// vLLM.
    Vllm,
}

impl LocalKind {
    /// Its name, for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::LlamaCpp => "llama.cpp",
            Self::Vllm => "vLLM",
        }
    }

    /// What stands before the slash of its models' names.
    fn provider(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LmStudio => "lm_studio",
            Self::LlamaCpp => "llamacpp",
            Self::Vllm => "vllm",
        }
    }
}

/// Where a server is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which program.
    pub kind: LocalKind,
    /// The server's address, without the path of an API.
    pub address: String,
}

/// What was found at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Where.
    pub place: Place,
    /// Its models; `None`: nothing answers there, or something else does.
    pub models: Option<Vec<ModelFacts>>,
}

/// Where these servers are unless somebody moves them. `ollama_host` is the value of `OLLAMA_HOST`.
pub fn usual_places(ollama_host: Option<&str>) -> Vec<Place> {
    let place = |kind, address: &str| Place {
        kind,
        address: address.to_owned(),
    };
    vec![
        place(
            LocalKind::Ollama,
            &ollama::address(ollama_host.unwrap_or_default()),
        ),
        place(LocalKind::LmStudio, "http://127.0.0.1:1234"),
        place(LocalKind::LlamaCpp, "http://127.0.0.1:8080"),
        place(LocalKind::Vllm, "http://127.0.0.1:8000"),
    ]
}

/// Looks at all places at once. A server that takes longer than `patience` for an answer counts as absent.
pub async fn discover(places: Vec<Place>, patience: Duration) -> Vec<Found> {
    // Without proxies: these servers are near.
    let settings = ModelSettings {
        connect_timeout: patience,
        ..ModelSettings::default()
    };
    let client = http::new_client(&settings).ok();
    join_all(places.into_iter().map(async |place| {
        let server = client.as_ref().zip(Url::parse(&place.address).ok());
        let models = match server {
            Some((client, base)) => {
                Server {
                    client,
                    base,
                    kind: place.kind,
                    api_key: None,
                    patience,
                }
                .models()
                .await
            }
            None => None,
        };
        Found { place, models }
    }))
    .await
}

/// What the server of a model says about it, which may be nothing. `None`: it cannot be asked.
pub(crate) async fn served(
    kind: LocalKind,
    name: &str,
    settings: &ModelSettings,
    patience: Duration,
) -> Option<ModelFacts> {
    let (provider, wire_name) = provider_of(name)?;
    let mut base = address_of(name, provider, settings).ok()?;
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path);
    let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    base.set_path(&path);
    let client = http::new_client(settings).ok()?;
    let server = Server {
        client: &client,
        base,
        kind,
        api_key: settings.api_key.as_ref(),
        patience,
    };
    let own_name = format!("{}/{wire_name}", kind.provider());
    let mut models = server.models().await?.into_iter();
    Some(match kind {
        // It serves its one model by any name.
        LocalKind::LlamaCpp => models.next()?,
        LocalKind::Ollama | LocalKind::LmStudio | LocalKind::Vllm => models
            .find(|facts| facts.name == own_name)
            .unwrap_or_else(|| free(&own_name, None, None)),
    })
}

struct Server<'a> {
    client: &'a Client,
    base: Url,
    kind: LocalKind,
    api_key: Option<&'a Secret<String>>,
    patience: Duration,
}

impl Server<'_> {
    async fn models(&self) -> Option<Vec<ModelFacts>> {
        let mut models = match self.kind {
            LocalKind::Ollama => self.ollama().await?,
            LocalKind::LmStudio => match self.get("/api/v0/models").await {
                Some(answer) => lm_studio(&answer)?,
                None => open_ai(&self.get("/v1/models").await?)?,
            },
            LocalKind::LlamaCpp => {
                // One model runs there, and the server knows how it runs.
                let (models, props) = futures::join!(self.get("/v1/models"), self.get("/props"));
                let mut models = open_ai(&models?)?;
                if let Some(props) = props {
                    for model in &mut models {
                        add_props(model, &props);
                    }
                }
                models
            }
            LocalKind::Vllm => open_ai(&self.get("/v1/models").await?)?,
        };
        for model in &mut models {
            model.name = format!("{}/{}", self.kind.provider(), model.name);
        }
        Some(models)
    }

    async fn ollama(&self) -> Option<Vec<ModelFacts>> {
        let tags = self.get("/api/tags").await?;
        let names = listed(&tags, "models", "name")?;
        let shown = names.into_iter().map(async |name| {
            let request = self
                .client
                .post(self.url("/api/show"))
                .json(&json!({ "model": name }));
            let shown = self.ask(request).await.map(|answer| Shown::read(&answer));
            let shown = shown.unwrap_or_default();
            let abilities = [
                (Ability::Tools, shown.can("tools")),
                (Ability::Vision, shown.can("vision")),
                (Ability::Thinking, shown.can("thinking")),
            ];
            let known = abilities.map(|(ability, there)| Some((ability, there?)));
            let known: Option<Vec<_>> = known.into_iter().collect();
            free(
                &name,
                shown.context_window(),
                known.as_deref().map(Ability::among),
            )
        });
        Some(
            stream::iter(shown)
                .buffered(MAX_CONCURRENT_QUESTIONS)
                .collect()
                .await,
        )
    }

    async fn get(&self, path: &str) -> Option<Value> {
        self.ask(self.client.get(self.url(path))).await
    }

    async fn ask(&self, request: RequestBuilder) -> Option<Value> {
        let request = match self.api_key {
            Some(key) => request.bearer_auth(key.expose().trim()),
            None => request,
        };
        fetch(request, self.patience).await.ok()
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }
}

/// A model that costs nothing.
fn free(name: &str, context_window: Option<Tokens>, abilities: Option<Vec<Ability>>) -> ModelFacts {
    ModelFacts {
        name: name.to_owned(),
        context_window,
        prices: Some(Prices::FREE),
        abilities,
    }
}

/// The names in a list of models.
fn listed(answer: &Value, list: &str, name: &str) -> Option<Vec<String>> {
    let models = answer[list].as_array()?.iter().take(MAX_MODELS);
    Some(
        models
            .filter_map(|model| model[name].as_str())
            .map(str::to_owned)
            .collect(),
    )
}

/// The list that every OpenAI-compatible server gives; vLLM adds the context size.
fn open_ai(answer: &Value) -> Option<Vec<ModelFacts>> {
    let models = answer["data"].as_array()?.iter().take(MAX_MODELS);
    let facts = |model: &Value| Some(free(model["id"].as_str()?, tokens(&model["max_model_len"]), None));
    Some(models.filter_map(facts).collect())
}

/// LM Studio's own list. A loaded model has the context size it was loaded with, whatever it could have.
fn lm_studio(answer: &Value) -> Option<Vec<ModelFacts>> {
    let models = answer["data"].as_array()?.iter().take(MAX_MODELS);
    let talks = |model: &&Value| matches!(model["type"].as_str(), Some("llm" | "vlm"));
    let facts = |model: &Value| {
        let window = tokens(&model["loaded_context_length"]).or_else(|| tokens(&model["max_context_length"]));
        let calls_tools = model["capabilities"]
            .as_array()
            .map(|words| words.contains(&"tool_use".into()));
        let abilities = calls_tools.map(|calls_tools| {
            Ability::among(&[
                (Ability::Tools, calls_tools),
                (Ability::Vision, model["type"] == "vlm"),
            ])
        });
        Some(free(model["id"].as_str()?, window, abilities))
    };
    Some(models.filter(talks).filter_map(facts).collect())
}

/// What the server of llama.cpp says about the model it runs.
fn add_props(model: &mut ModelFacts, props: &Value) {
    model.context_window = tokens(&props["default_generation_settings"]["n_ctx"]).or(model.context_window);
    let caps = &props["chat_template_caps"];
    let calls_tools = caps["supports_tool_calls"]
        .as_bool()
        .or(caps["supports_tools"].as_bool());
    let sees = props["modalities"]["vision"].as_bool();
    model.abilities = calls_tools
        .zip(sees)
        .map(|(calls_tools, sees)| Ability::among(&[(Ability::Tools, calls_tools), (Ability::Vision, sees)]));
}

fn tokens(value: &Value) -> Option<Tokens> {
    value.as_u64().filter(|count| *count > 0).map(Tokens)
}
