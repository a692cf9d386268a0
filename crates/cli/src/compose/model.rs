//! The models of a conversation, as the settings say.

use std::sync::Arc;

use anyhow::{Context, bail};
use deft_engine::{Condenser, Critic, Memory, Models, Refinement};
use deft_llm::{
    AwsSettings, Condition, Model, ModelSettings, NamedModel, OpenModelError, PrefixWatch, Prices, Proxies,
    Registry, RetryPolicy,
};
use deft_store::Store;
use deft_types::{ConversationId, Money, Secret};

use crate::settings::{ModelTable, Setting, Settings};

/// Which model to use: the one that is set, else the one that answered last.
pub(crate) async fn model_for(
    settings: &Settings,
    store: &dyn Store,
    conversation: Option<ConversationId>,
) -> anyhow::Result<Opened> {
    let name = match (&settings.model.value, conversation) {
        (Some(name), _) => Some(name.clone()),
        (None, Some(id)) => deft_engine::load(store, id).await?.model,
        (None, None) => None,
    };
    let Some(name) = name else {
        bail!(
            "no model is set: pass --model PROVIDER/NAME, or set LLM_MODEL (and LLM_API_KEY or LLM_BASE_URL), \
             or try `deft demo`, which needs neither"
        );
    };
    open_model(&name, settings)
}

/// A model, and the name by which it can be opened again.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) model: Arc<dyn Model>,
}

/// Opens a model by its name or by one of the user's own.
pub(crate) fn open_model(name: &str, settings: &Settings) -> anyhow::Result<Opened> {
    Ok(Opened {
        name: name.to_owned(),
        model: registry(name, settings).open(name)?,
    })
}

/// The models that the user has given names.
struct NamedModels(Settings);

impl Models for NamedModels {
    fn names(&self) -> Vec<String> {
        self.0.models.keys().cloned().collect()
    }

    fn open(&self, name: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        registry(name, &self.0).open(name)
    }
}

/// The models that the user has given names.
pub(crate) fn named_models(settings: &Settings) -> Arc<dyn Models> {
    Arc::new(NamedModels(settings.clone()))
}

/// The memory of an agent, with the model that is set for summaries.
pub(crate) fn memory(settings: &Settings) -> anyhow::Result<Memory> {
    Ok(Memory {
        model: named(settings, &settings.condenser_model, "condenser_model")?,
        condenser: match &settings.condenser_kind.value {
            Some(kind) => kind.condenser.clone(),
            None => Condenser::default(),
        },
    })
}

/// The critic of an agent, where a model is set for it.
pub(super) fn refinement(settings: &Settings) -> anyhow::Result<Option<Refinement>> {
    let model = named(settings, &settings.critic_model, "critic_model")?;
    Ok(model.map(|model| Refinement {
        critic: Critic::Model(Some(model)),
        ..Refinement::default()
    }))
}

/// The model that a setting names, if it names one.
pub(crate) fn named(
    settings: &Settings,
    setting: &Setting<Option<String>>,
    key: &str,
) -> anyhow::Result<Option<Arc<dyn Model>>> {
    let opened = setting
        .value
        .as_ref()
        .map(|name| open_model(name, settings))
        .transpose();
    let opened = opened.with_context(|| format!("the model of the setting {key} cannot be used"))?;
    Ok(opened.map(|opened| opened.model))
}

/// All models, to open one of them.
fn registry<'a>(name: &'a str, settings: &'a Settings) -> Registry<'a> {
    let named = settings
        .models
        .iter()
        .map(|(name, table)| (name.clone(), named_model(table, settings)));
    // The key and the address that are set are meant for the model that is set, not for those that stand in for it.
    let reach = move |other: &str| {
        if other == name {
            settings_for(name, settings)
        } else {
            providers_own(other, settings)
        }
    };
    Registry {
        named: named.collect(),
        settings: Box::new(reach),
        prefixes: PrefixWatch::default(),
    }
}

/// How a model is reached that a client of the server names. The key and the address that are set are meant for
/// the model that is set.
pub(crate) fn reached_by_client(name: &str, settings: &Settings) -> ModelSettings {
    if settings.model.value.as_deref() == Some(name) {
        settings_for(name, settings)
    } else {
        providers_own(name, settings)
    }
}

/// How a model is reached as its provider's own tools would.
fn providers_own(name: &str, settings: &Settings) -> ModelSettings {
    ModelSettings {
        api_key: providers_key(name),
        base_url: providers_address(name),
        ..model_settings(settings)
    }
}

/// What a model's name, or one of the user's own, stands for, and how it is reached.
pub(crate) fn reached(name: &str, settings: &Settings) -> (String, ModelSettings) {
    match settings.models.get(name) {
        Some(table) => {
            let named = named_model(table, settings);
            (named.model, named.settings)
        }
        None => (name.to_owned(), settings_for(name, settings)),
    }
}

/// How a model without a table of its own is reached.
fn settings_for(name: &str, settings: &Settings) -> ModelSettings {
    let common = model_settings(settings);
    ModelSettings {
        api_key: settings.api_key.value.clone().or_else(|| providers_key(name)),
        base_url: common.base_url.clone().or_else(|| providers_address(name)),
        ..common
    }
}

/// What is common to all models.
fn model_settings(settings: &Settings) -> ModelSettings {
    ModelSettings {
        api_key: None,
        base_url: settings
            .base_url
            .value
            .as_ref()
            .map(|url| url.as_str().to_owned()),
        connect_timeout: settings.connect_timeout.value,
        idle_timeout: settings.idle_timeout.value,
        retry: RetryPolicy {
            attempts: u32::try_from(settings.model_attempts.value).unwrap_or(u32::MAX),
            total_timeout: settings.total_timeout.value,
            ..RetryPolicy::default()
        },
        proxies: Proxies::from_variables(|name| std::env::var(name).ok()),
        ca_file: settings.ca_file.value.clone(),
        aws: Some(AwsSettings::from_variables(|name| std::env::var(name).ok())),
        ..ModelSettings::default()
    }
}

/// A model with a table of its own. Neither the common key nor the common address is meant for it.
fn named_model(table: &ModelTable, settings: &Settings) -> NamedModel {
    let from_variable = || {
        table
            .api_key_env
            .as_ref()
            .and_then(|name| std::env::var(name).ok())
            .map(Secret::new)
    };
    let api_key = table
        .api_key
        .clone()
        .or_else(from_variable)
        .or_else(|| providers_key(&table.model));
    let images = table
        .images
        .iter()
        .map(|name| (Condition::HasImage, name.clone()));
    let long = table
        .long
        .iter()
        .map(|route| (Condition::AtLeast(route.tokens), route.model.clone()));
    NamedModel {
        model: table.model.clone(),
        settings: ModelSettings {
            api_key,
            base_url: table
                .base_url
                .as_ref()
                .map(|url| url.as_str().to_owned())
                .or_else(|| providers_address(&table.model)),
            extra_headers: table.headers.clone().into_iter().collect(),
            api_mode: table.api_mode,
            api_version: table.api_version.clone(),
            extended_thinking_budget: table.thinking_budget,
            tuning: table.tuning(),
            prices: table
                .price
                .map(|[input, output]| Prices::flat(per_token(input), per_token(output))),
            capability_overrides: table.known_capabilities(),
            ..model_settings(settings)
        },
        fallback: table.fallback.clone(),
        routes: images.chain(long).collect(),
        classes: table.task_classes(),
    }
}

/// People name prices for a million tokens.
fn per_token(price: Money) -> Money {
    Money::from_picodollars(price.as_picodollars() / 1_000_000)
}

/// The key that the provider's own tools would use.
fn providers_key(model: &str) -> Option<Secret<String>> {
    let variable = deft_llm::key_variable(model)?;
    std::env::var(variable).ok().map(Secret::new)
}

/// The address that the provider's own tools would use.
fn providers_address(model: &str) -> Option<String> {
    let variable = deft_llm::address_variable(model)?;
    std::env::var(variable).ok().filter(|address| !address.is_empty())
}
