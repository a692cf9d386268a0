//! Agents that are given tasks by other agents.

use std::sync::Arc;

use deft_engine::{Mode, Purse, SubAgent, SubAgentKind, SubAgents};
use deft_store::{ConversationRecord, Store};
use deft_tools::Preset;
use deft_types::ConversationId;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::client_model;
use crate::compose::{self, Opened};
use crate::settings::Settings;

/// How many levels of agents there may be below the one that the user talks to.
const MAX_DEPTH: u32 = 2;
/// The beginning of a task's id; its conversation's id follows.
const ID_PREFIX: &str = "task_";

/// The kinds there are, and what they are for.
const KINDS: [(&str, &str); 2] = [
    ("general-purpose", "does a whole task with all tools"),
    (
        "code-explorer",
        "finds things out in the code and reports; it can change nothing",
    ),
];

/// Starts agents for the conversation of another.
pub(crate) struct Helpers {
    settings: Settings,
    store: Arc<dyn Store>,
    parent: ConversationRecord,
    depth: u32,
    /// What their model is, where a client of the server has said it.
    llm: Option<Value>,
}

impl Helpers {
    /// Those of a conversation, unless it is too many levels down to have some.
    pub(crate) fn of(
        settings: &Settings,
        store: &Arc<dyn Store>,
        parent: &ConversationRecord,
        depth: u32,
    ) -> Option<Arc<dyn SubAgents>> {
        (depth < MAX_DEPTH).then(|| -> Arc<dyn SubAgents> {
            Arc::new(Self {
                settings: settings.clone(),
                store: store.clone(),
                parent: parent.clone(),
                depth,
                llm: None,
            })
        })
    }

    /// Those of a conversation of the server, whose model is a client's `llm`.
    pub(crate) fn of_client(
        settings: &Settings,
        store: &Arc<dyn Store>,
        parent: &ConversationRecord,
        llm: &Value,
    ) -> Arc<dyn SubAgents> {
        Arc::new(Self {
            settings: settings.clone(),
            store: store.clone(),
            parent: parent.clone(),
            depth: 0,
            llm: Some(llm.clone()),
        })
    }

    /// The model that is set for agents with tasks, else the one of whoever gives the task.
    async fn model(&self, settings: &Settings) -> anyhow::Result<Opened> {
        match (&settings.agents_model.value, &self.llm) {
            (Some(name), _) => compose::open_model(name, settings),
            (None, Some(llm)) => Ok(Opened {
                name: llm["model"].as_str().unwrap_or_default().to_owned(),
                model: client_model::open(llm, settings)?,
            }),
            (None, None) => compose::model_for(settings, self.store.as_ref(), Some(self.parent.id)).await,
        }
    }

    async fn start(&self, kind: &str, resume: Option<&str>, purse: &Purse) -> anyhow::Result<SubAgent> {
        let store = self.store.as_ref();
        let record = match resume {
            Some(task) => compose::find(store, task.strip_prefix(ID_PREFIX).unwrap_or(task)).await?,
            None => compose::create(store, &self.parent.workspace.parse()?).await?,
        };
        let settings = &self.settings;
        let model = self.model(settings).await?;
        let preset = Preset::for_model(&model.model.profile().name);
        let explores = kind == "code-explorer";
        let has = move |tool: &str| {
            if explores {
                looks_only(tool)
            } else {
                preset.has(tool)
            }
        };
        let store = self.store.clone();
        let conversation = Box::pin(compose::open_as(
            settings,
            store,
            model,
            &record,
            compose::Role {
                has: &has,
                depth: self.depth + 1,
                above: Some(purse.clone()),
                mode: Mode::Act,
            },
        ))
        .await?;
        Ok(SubAgent {
            task_id: format!("{ID_PREFIX}{}", short(record.id)),
            conversation,
        })
    }
}

impl SubAgents for Helpers {
    fn kinds(&self) -> Vec<SubAgentKind> {
        let kind = |(name, description): (&str, &str)| SubAgentKind {
            name: name.to_owned(),
            description: description.to_owned(),
        };
        KINDS.map(kind).to_vec()
    }

    fn open<'a>(
        &'a self,
        kind: &'a str,
        resume: Option<&'a str>,
        purse: &'a Purse,
    ) -> BoxFuture<'a, Result<SubAgent, String>> {
        async move {
            if !KINDS.iter().any(|(name, _)| *name == kind) {
                let names = KINDS.map(|(name, _)| name).join(", ");
                return Err(format!("there is no kind '{kind}'; there are {names}"));
            }
            self.start(kind, resume, purse)
                .await
                .map_err(|error| format!("{error:#}"))
        }
        .boxed()
    }
}

/// Whether a tool changes nothing.
fn looks_only(tool: &str) -> bool {
    matches!(tool, "grep" | "glob" | "read_file" | "list_directory" | "code")
}

fn short(id: ConversationId) -> String {
    id.hex()[..8].to_owned()
}
