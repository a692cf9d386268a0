//! Models under names of the user's own: the tables `[models.NAME]` of their `deft.toml`.

use std::collections::BTreeMap;

use deft_llm::{ApiMode, KnownCapabilities, TaskClass, TaskClasses, Tuning};
use deft_types::{Money, Secret, Tokens};
use serde::Deserialize;

use super::value::BaseUrl;

/// `[models.NAME]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelTable {
    /// The model, as `--model` takes it.
    pub(crate) model: String,
    /// Its key.
    pub(crate) api_key: Option<Secret<String>>,
    /// The environment variable that has its key.
    pub(crate) api_key_env: Option<String>,
    /// The address of its server.
    pub(crate) base_url: Option<BaseUrl>,
    /// Headers that its server wants.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Secret<String>>,
    /// Which of OpenAI's APIs it is asked by.
    #[serde(default)]
    pub(crate) api_mode: ApiMode,
    /// The version of Azure's API.
    pub(crate) api_version: Option<String>,
    /// How hard it reasons: `low`, `medium`, `high` …
    pub(crate) reasoning_effort: Option<String>,
    /// Tokens that a Claude model may reason before it answers; 0 for none.
    pub(crate) thinking_budget: Option<Tokens>,
    /// How much of its reasoning it sums up: `auto`, `concise`, `detailed`.
    pub(crate) reasoning_summary: Option<String>,
    /// How freely it chooses its words.
    pub(crate) temperature: Option<f64>,
    /// From which share of likely words it chooses.
    pub(crate) top_p: Option<f64>,
    /// From how many likely words it chooses.
    pub(crate) top_k: Option<u64>,
    /// Makes it choose the same words again, as far as its provider can.
    pub(crate) seed: Option<i64>,
    /// Words at which it stops.
    #[serde(default)]
    pub(crate) stop: Vec<String>,
    /// Fields that are put into each request, over those that are there.
    #[serde(default)]
    pub(crate) extra_body: serde_json::Map<String, serde_json::Value>,
    /// Whether its provider is told what to cache, where we know it wrongly: a proxy may hide a Claude model.
    pub(crate) cache_marks: Option<bool>,
    /// How much it may write at most.
    pub(crate) max_output_tokens: Option<Tokens>,
    /// How much it may be given to read; for Ollama, how much memory it takes for that.
    pub(crate) context_window: Option<Tokens>,
    /// US dollars for a million tokens: of the prompt, of the reply.
    pub(crate) price: Option<[Money; 2]>,
    /// What it can do, where we do not know it or know it wrongly.
    #[serde(default)]
    pub(crate) capabilities: KnownCapabilities,
    /// Who is asked when it fails for the moment, in this order.
    #[serde(default)]
    pub(crate) fallback: Vec<String>,
    /// Who is asked instead when there are images.
    pub(crate) images: Option<String>,
    /// Who is asked instead when the conversation is long.
    pub(crate) long: Option<LongRoute>,
    /// Who tells the classes of tasks apart; the model itself where nobody is named.
    pub(crate) classifier: Option<String>,
    /// Who is asked instead for some kinds of tasks.
    #[serde(default)]
    pub(crate) classes: Vec<ClassRoute>,
}

impl ModelTable {
    /// How it is asked to answer.
    pub(crate) fn tuning(&self) -> Tuning {
        Tuning {
            reasoning_effort: self.reasoning_effort.clone(),
            reasoning_summary: self.reasoning_summary.clone(),
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k,
            stop: self.stop.clone(),
            seed: self.seed,
            context_window: self.context_window,
            max_output: self.max_output_tokens,
            extra_body: self.extra_body.clone(),
        }
    }

    /// What the user says it can do.
    pub(crate) fn known_capabilities(&self) -> KnownCapabilities {
        KnownCapabilities {
            explicit_cache_markers: self.cache_marks.or(self.capabilities.explicit_cache_markers),
            ..self.capabilities
        }
    }

    /// Its classes of tasks, if it has any.
    pub(crate) fn task_classes(&self) -> Option<TaskClasses> {
        let classes = self.classes.iter().map(|class| TaskClass {
            name: class.name.clone(),
            description: class.description.clone(),
            model: class.model.clone(),
        });
        (!self.classes.is_empty()).then(|| TaskClasses {
            classifier: self.classifier.clone().unwrap_or_else(|| self.model.clone()),
            classes: classes.collect(),
        })
    }
}

/// `classes = [{ name = "…", description = "…", model = "…" }]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClassRoute {
    /// A word for the kind of task.
    pub(crate) name: String,
    /// Which tasks are of that kind.
    pub(crate) description: String,
    /// Who is asked.
    pub(crate) model: String,
}

/// `long = { tokens = 100000, model = "…" }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LongRoute {
    /// From how many tokens on.
    pub(crate) tokens: Tokens,
    /// Who is asked.
    pub(crate) model: String,
}

/// All of them.
pub(crate) type ModelTables = BTreeMap<String, ModelTable>;

/// The part of the file that holds them.
#[derive(Deserialize)]
pub(super) struct ModelsOnly {
    #[serde(default)]
    pub(super) models: ModelTables,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_key_reaches_the_model() {
        let table: ModelTable = toml::from_str(
            r#"
            model = "litellm_proxy/prod"
            reasoning_summary = "auto"
            top_p = 0.9
            top_k = 40
            seed = 7
            stop = ["END"]
            cache_marks = true
            extra_body = { metadata = { team = "x" } }
            classes = [{ name = "hard", description = "bugs", model = "strong" }]
            "#,
        )
        .unwrap();
        let tuning = table.tuning();
        assert_eq!(
            (tuning.top_p, tuning.top_k, tuning.seed, tuning.stop),
            (Some(0.9), Some(40), Some(7), vec!["END".to_owned()])
        );
        assert_eq!(tuning.reasoning_summary.as_deref(), Some("auto"));
        assert_eq!(json!(tuning.extra_body), json!({"metadata": {"team": "x"}}));
        assert_eq!(table.known_capabilities().explicit_cache_markers, Some(true));
        let classes = table.task_classes().unwrap();
        assert_eq!(
            classes.classifier, "litellm_proxy/prod",
            "itself where nobody is named"
        );
        assert_eq!(classes.classes[0].model, "strong");
    }
}
