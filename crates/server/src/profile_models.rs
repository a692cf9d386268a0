//! The models that an agent may use beside its own: those that have names here, and those of the program's settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use deft_engine::{Models, RouteQuestion, TaskRoutes};
use deft_llm::{Model, OpenModelError};
use serde_json::Value;

use crate::agent::Agent;
use crate::composition::{ClientModel, Composition, Unopened};
use crate::documents::Documents;
use crate::failure::Failure;
use crate::launch::{CONNECTIONS, PROFILES, connected};
use crate::settings::Settings;
use crate::tool_choices::ROUTE_TOOLS;

/// Where routes between models are kept.
pub(crate) const META_PROFILES: &str = "meta-profiles/";

/// As they were when the conversation was loaded.
pub(crate) struct ProfileModels {
    /// The settings of each, key included.
    profiles: BTreeMap<String, ClientModel>,
    others: Option<Arc<dyn Models>>,
    composition: Arc<dyn Composition>,
    routes: Option<TaskRoutes>,
}

impl ProfileModels {
    pub(crate) async fn load(
        documents: &Documents,
        composition: &Arc<dyn Composition>,
        client: impl Fn(Value) -> ClientModel,
        agent: &Agent,
    ) -> Result<Self, Failure> {
        let connections: BTreeMap<_, _> = documents.list(CONNECTIONS).await?.into_iter().collect();
        let mut profiles = BTreeMap::new();
        for (name, mut llm) in documents.list(PROFILES).await? {
            if let Some(connection) = llm["provider_connection_id"]
                .as_str()
                .and_then(|id| connections.get(id))
            {
                connected(&mut llm, connection);
            }
            profiles.insert(name, client(llm));
        }
        let routes = if agent.asks_for(&ROUTE_TOOLS) {
            routes(documents, agent).await?
        } else {
            None
        };
        Ok(Self {
            profiles,
            others: composition.models(),
            composition: Arc::clone(composition),
            routes,
        })
    }
}

impl Models for ProfileModels {
    fn names(&self) -> Vec<String> {
        let others = self.others.iter().flat_map(|others| others.names());
        let others = others.filter(|name| !self.profiles.contains_key(name));
        self.profiles.keys().cloned().chain(others).collect()
    }

    fn open(&self, name: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        if let Some(wanted) = self.profiles.get(name) {
            let model = self.composition.model(wanted);
            return Ok(model.unwrap_or_else(|reason| Arc::new(Unopened::new(name, reason))));
        }
        match &self.others {
            Some(others) => others.open(name),
            None => Err(OpenModelError::UnknownName {
                name: name.to_owned(),
                guess: None,
            }),
        }
    }

    fn routes(&self) -> Option<TaskRoutes> {
        self.routes.clone()
    }
}

/// The routes that count for an agent: those that its tool names, those that are active, else the first there are.
async fn routes(documents: &Documents, agent: &Agent) -> Result<Option<TaskRoutes>, Failure> {
    let settings = Settings::load(documents).await?;
    let named = agent.tool_params(&ROUTE_TOOLS)["active_meta_profile"].as_str();
    let active = named.or(settings.value()["active_meta_profile"].as_str());
    let found = match active {
        Some(name) => documents.get(&format!("{META_PROFILES}{name}")).await?,
        None => documents
            .list(META_PROFILES)
            .await?
            .into_iter()
            .next()
            .map(|(_, config)| config),
    };
    Ok(found.as_ref().and_then(read))
}

/// What routes of this name lack: themselves, or models that they name.
pub(crate) async fn dangling(
    documents: &Documents,
    name: Option<&str>,
) -> Result<(Option<String>, Vec<String>), Failure> {
    let Some(name) = name else {
        return Ok((None, Vec::new()));
    };
    let Some(config) = documents.get(&format!("{META_PROFILES}{name}")).await? else {
        return Ok((Some(name.to_owned()), Vec::new()));
    };
    let classes = config["classes"].as_array().into_iter().flatten();
    let models = classes
        .map(|class| &class["model"])
        .chain([&config["classifier_model"]]);
    let mut missing = Vec::new();
    for model in models.filter_map(Value::as_str) {
        let is_known = documents.get(&format!("{PROFILES}{model}")).await?.is_some();
        if !is_known && !missing.iter().any(|known| known == model) {
            missing.push(model.to_owned());
        }
    }
    Ok((None, missing))
}

fn read(config: &Value) -> Option<TaskRoutes> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let question = if let Some(prompt) = text(&config["prompt_template"]) {
        let table = config["model_table"].as_str().unwrap_or_default();
        let places = ["{{ model_table }}", "{{model_table}}"];
        let filled = places
            .iter()
            .fold(prompt, |prompt, place| prompt.replace(place, table));
        RouteQuestion::Prompt(filled)
    } else {
        let classes = config["classes"].as_array().into_iter().flatten();
        let kind = |class: &Value| Some((text(&class["description"])?, text(&class["model"])?));
        RouteQuestion::Kinds(classes.filter_map(kind).collect())
    };
    Some(TaskRoutes {
        classifier: text(&config["classifier_model"])?,
        question,
    })
}
