//! `deft models`: what is set up, and what runs on this machine.

mod trial;

use std::io::Write;

use deft_llm::{
    Ability, Found, LOCAL_PATIENCE, ModelFacts, ProviderFacts, discover, facts_with, providers, usual_places,
};
use deft_types::{Money, Tokens};
use serde_json::{Value, json};

use crate::args::{Listing, Models, ModelsAction};
use crate::compose;
use crate::exit::Exit;
use crate::output::{Style, model_list};
use crate::settings::{Settings, Surroundings};

/// The variable that says where Ollama is.
pub(crate) const OLLAMA_HOST: &str = "OLLAMA_HOST";
/// Prices are told for so many tokens.
const MILLION: Tokens = Tokens(1_000_000);

/// Everything that `deft models` tells.
pub(crate) struct ModelList {
    /// The model that is set, and where.
    pub(crate) configured: Option<(ModelFacts, String)>,
    /// The models with names of the user's own.
    pub(crate) named: Vec<(String, ModelFacts)>,
    /// Where the key for any provider comes from, if one is set.
    pub(crate) key_source: Option<String>,
    /// The providers, and whether the variable with their own key is set.
    pub(crate) providers: Vec<(ProviderFacts, bool)>,
    /// The servers that were looked for on this machine.
    pub(crate) local: Vec<Found>,
}

pub(crate) async fn models(args: Models) -> anyhow::Result<Exit> {
    match args.action {
        Some(ModelsAction::Test(args)) => trial::test(args).await,
        None => list(&args.listing).await,
    }
}

async fn list(args: &Listing) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let list = gather(&settings, &surroundings).await;
    let mut out = anstream::AutoStream::auto(std::io::stdout()).lock();
    if args.json {
        writeln!(out, "{:#}", as_json(&list))?;
    } else {
        write!(out, "{}", model_list(&list, &Style::coloured()))?;
    }
    Ok(Exit::Finished)
}

async fn gather(settings: &Settings, surroundings: &Surroundings) -> ModelList {
    let variable = |name: &str| surroundings.env.get(name).filter(|value| !value.is_empty());
    let places = usual_places(variable(OLLAMA_HOST).map(String::as_str));
    let local = discover(places, LOCAL_PATIENCE).await;
    let known = |name: &str| {
        let (model, reached) = compose::reached(name, settings);
        let mut models = local.iter().flat_map(|found| found.models.iter().flatten());
        let found = models.find(|found| found.name == model).cloned();
        found.unwrap_or_else(|| facts_with(&model, &reached))
    };
    let configured = settings
        .model
        .value
        .as_ref()
        .map(|name| (known(name), settings.model.source.to_string()));
    let named = settings.models.keys().map(|name| (name.clone(), known(name)));
    ModelList {
        configured,
        named: named.collect(),
        key_source: settings
            .api_key
            .value
            .as_ref()
            .map(|_| settings.api_key.source.to_string()),
        providers: providers()
            .map(|provider| {
                let is_set = provider.key_variable.and_then(variable).is_some();
                (provider, is_set)
            })
            .collect(),
        local,
    }
}

/// The price of a million tokens.
pub(crate) fn per_million(price: Money) -> Money {
    price * MILLION
}

/// An address without a user's name and password.
pub(crate) fn public_address(found: &Found) -> String {
    let address = &found.place.address;
    match address.split_once("://").zip(address.rsplit_once('@')) {
        Some(((scheme, _), (_, host))) => format!("{scheme}://{host}"),
        None => address.clone(),
    }
}

fn as_json(list: &ModelList) -> Value {
    json!({
        "configured": list.configured.as_ref().map(|(facts, source)| {
            let mut model = facts_as_json(facts);
            model["source"] = source.as_str().into();
            model
        }),
        "named": list.named.iter().map(|(name, facts)| {
            let mut model = facts_as_json(facts);
            model["called"] = name.as_str().into();
            model
        }).collect::<Vec<_>>(),
        "api_key_source": list.key_source,
        "providers": list.providers.iter().map(|(provider, is_set)| json!({
            "name": provider.name,
            "key_variable": provider.key_variable,
            "key_is_set": is_set,
        })).collect::<Vec<_>>(),
        "local": list.local.iter().map(|found| json!({
            "server": found.place.kind.title(),
            "address": public_address(found),
            "running": found.models.is_some(),
            "models": found.models.iter().flatten().map(facts_as_json).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

fn facts_as_json(facts: &ModelFacts) -> Value {
    let abilities = facts.abilities.as_ref();
    json!({
        "name": facts.name,
        "context_window": facts.context_window,
        "input_price_per_million": facts.prices.map(|prices| per_million(prices.base.input)),
        "output_price_per_million": facts.prices.map(|prices| per_million(prices.base.output)),
        "abilities": abilities.map(|abilities| abilities.iter().copied().map(Ability::as_str).collect::<Vec<_>>()),
    })
}
