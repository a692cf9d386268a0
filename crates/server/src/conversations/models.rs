//! The models of a conversation: that of its agent, those that stand in for it, and those that it may ask.

use std::sync::Arc;
use std::time::Duration;

use deft_engine::Models;
use deft_llm::{CallLog, GraySwan, Model};
use deft_types::Secret;
use serde_json::Value;

use super::Conversations;
use crate::agent::Agent;
use crate::catalog::Described;
use crate::composition::Unopened;
use crate::failure::Failure;
use crate::launch::profile_model;
use crate::masking::ASTERISKS;
use crate::profile_models::ProfileModels;
use crate::tool_choices::ROUTE_TOOLS;

impl Conversations {
    /// Opens the model that an `llm` object names; its calls are kept where it says `log_completions`.
    pub(super) fn open_model(&self, llm: &Value, calls: &CallLog) -> Result<Arc<dyn Model>, String> {
        let model = self.try_model(llm)?;
        if llm["log_completions"] != true {
            return Ok(model);
        }
        let usage_id = llm["usage_id"].as_str().unwrap_or("default");
        Ok(calls.around(model, usage_id))
    }

    /// The model of an agent, with the profiles that stand in for it.
    pub(super) async fn model(&self, agent: &Agent, calls: &CallLog) -> Result<Arc<dyn Model>, Failure> {
        let opened = |name: &str, model: Result<Arc<dyn Model>, String>| -> Arc<dyn Model> {
            model.unwrap_or_else(|reason| Arc::new(Unopened::new(name, reason)))
        };
        let names = agent.llm()["fallback_strategy"]["fallback_llms"].as_array();
        let mut stand_ins = Vec::new();
        for name in names.into_iter().flatten().filter_map(Value::as_str) {
            let model = match profile_model(&self.documents(), name).await? {
                Some(llm) => self.open_model(&llm, calls),
                None => Err(format!("there is no profile '{name}' to stand in for the model")),
            };
            stand_ins.push(opened(name, model));
        }
        let model = opened(agent.model(), self.open_model(agent.llm(), calls));
        Ok(deft_llm::with_stand_ins(model, stand_ins))
    }

    /// The models that an agent may use beside its own, where it wants to.
    pub(super) async fn models(&self, agent: &Agent) -> Result<Option<Arc<dyn Models>>, Failure> {
        if !agent.uses_models() && !agent.asks_for(&ROUTE_TOOLS) {
            return Ok(None);
        }
        let client = |llm| self.client_model(&llm);
        let models = ProfileModels::load(&self.documents(), &self.composition, client, agent).await?;
        Ok(Some(Arc::new(models)))
    }

    /// The model that a client wants to judge actions.
    pub(super) fn judge(&self, described: &Described, calls: &CallLog) -> Option<Arc<dyn Model>> {
        let llm = described.judge()?;
        let model = self.open_model(&llm, calls);
        Some(model.unwrap_or_else(|reason| Arc::new(Unopened::new("judge", reason))))
    }

    /// The service that a client wants to judge actions. Its address is reached by the server itself.
    pub(super) fn monitor(&self, described: &Described) -> Option<Arc<dyn Model>> {
        let wanted = described.monitor()?;
        let text = |name: &str| wanted[name].as_str().filter(|text| !text.is_empty());
        let number = |name: &str, usual: f64| wanted[name].as_f64().unwrap_or(usual);
        let key = text("api_key").filter(|key| *key != ASTERISKS); // the mask of one is none
        let opened = match (key, text("api_url")) {
            (None, _) => Err("`api_key` of the analyser is missing".to_owned()),
            (_, Some(url)) if url != GraySwan::URL && self.allowance.elsewhere().is_err() => {
                Err("only an admin may name addresses: they are reached by the server itself".to_owned())
            }
            (Some(key), url) => GraySwan {
                url: url.unwrap_or(GraySwan::URL).to_owned(),
                api_key: Secret::new(key.to_owned()),
                policy: text("policy_id").unwrap_or(GraySwan::POLICY).to_owned(),
                timeout: Duration::from_secs_f64(number("timeout", 30.0).clamp(1.0, 60.0)),
                thresholds: [number("low_threshold", 0.3), number("medium_threshold", 0.7)],
                ca_file: self.composition.ca_file(),
            }
            .open()
            .map_err(|error| error.to_string()),
        };
        Some(opened.unwrap_or_else(|reason| Arc::new(Unopened::new("grayswan", reason))))
    }
}
