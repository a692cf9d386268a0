//! Tools by which an agent uses other models than the one it runs on.

use std::sync::{Arc, Mutex, PoisonError};

use deft_llm::{Model, OpenModelError, Reply, Request};
use deft_tools::{Call, Reach, Tool, ToolError, Touches, spec};
use deft_types::{
    Action, AskOracleObservation, Content, ImageContent, Message, Money, Observation, Role, Stats,
    SwitchLLMObservation, Tokens, ToolSpec, VisionInspectObservation,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::budget::Purse;
use crate::route_task::{RouteTask, Said, TaskRoutes};

/// The name of the model that is asked for advice.
const ORACLE: &str = "oracle";
const ORACLE_PROMPT: &str = "You are asked for advice by a software agent that is stuck or unsure. Think it through, say what you \
                             would do and why, and name what you are not sure of.";

/// Why nobody is asked when all is spent.
const NOTHING_LEFT: &str = "the budget is spent; go on without it, the user can add to it";

/// Models by the names that the user gave them.
pub trait Models: Send + Sync {
    /// The names.
    fn names(&self) -> Vec<String>;

    /// Opens one of them.
    fn open(&self, name: &str) -> Result<Arc<dyn Model>, OpenModelError>;

    /// How one of them is chosen for a task, where the agent may have that done.
    fn routes(&self) -> Option<TaskRoutes> {
        None
    }
}

/// What tools have spent, until it is stored.
#[derive(Clone, Default)]
pub(crate) struct Spending {
    spent: Arc<Mutex<Vec<ModelUse>>>,
}

/// What a tool has spent.
pub(crate) enum ModelUse {
    /// One use of a model, to be added.
    Reply {
        usage_id: String,
        model: Arc<dyn Model>,
        reply: Box<Reply>,
    },
    /// All that another conversation has spent so far.
    Total { usage_id: String, stats: Stats },
}

impl Spending {
    pub(crate) fn add(&self, usage_id: String, model: Arc<dyn Model>, reply: Reply) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.push(ModelUse::Reply {
            usage_id,
            model,
            reply: Box::new(reply),
        });
    }

    /// Another conversation that belongs to this one has spent so much in all.
    pub(crate) fn add_total(&self, usage_id: String, stats: &Stats) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.push(ModelUse::Total {
            usage_id,
            stats: stats.clone(),
        });
    }

    /// What was used, by calls to models alone, since it was last taken.
    pub(crate) fn not_counted(&self) -> (Money, Tokens) {
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let none = (Money::ZERO, Tokens::ZERO);
        spent.iter().fold(none, |(cost, tokens), used| match used {
            ModelUse::Reply { reply, .. } => {
                let (more, used) = used_by(reply);
                (cost + more, tokens + used)
            }
            ModelUse::Total { .. } => (cost, tokens), // told to those above as it was used
        })
    }

    /// What was spent since it was last taken.
    pub(crate) fn take(&self) -> Vec<ModelUse> {
        std::mem::take(&mut *self.spent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The money and the tokens that a reply has taken.
pub(crate) fn used_by(reply: &Reply) -> (Money, Tokens) {
    let tokens = reply.usage.prompt + reply.usage.completion;
    (reply.cost.unwrap_or(Money::ZERO), tokens)
}

/// The tool that looks at an image of the user's for a model that cannot.
pub(crate) const INSPECT_IMAGE: &str = "inspect_image_with_vision";

/// The images that users have sent, in order.
#[derive(Clone, Default)]
pub(crate) struct Images(Arc<Mutex<Vec<String>>>);

impl Images {
    pub(crate) fn set(&self, images: Vec<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = images;
    }

    fn get(&self, index: i64) -> Option<String> {
        let images = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        images.get(usize::try_from(index).ok()?).cloned()
    }
}

/// The tools that make sense with these models, for an agent that runs on `model`.
pub(crate) fn offered(
    models: &Arc<dyn Models>,
    model: &dyn Model,
    spending: &Spending,
    purse: &Purse,
    (images, said): (&Images, &Said),
) -> Vec<Arc<dyn Tool>> {
    let names = models.names();
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if !names.is_empty() {
        tools.push(Arc::new(SwitchModel {
            models: models.clone(),
        }));
    }
    if let Some(routes) = models.routes() {
        tools.push(Arc::new(RouteTask {
            models: models.clone(),
            routes,
            spending: spending.clone(),
            purse: purse.clone(),
            said: said.clone(),
        }));
    }
    if names.iter().any(|name| name == ORACLE) {
        tools.push(Arc::new(AskOracle {
            models: models.clone(),
            spending: spending.clone(),
            purse: purse.clone(),
        }));
    }
    if !model.profile().capabilities.vision {
        let sees = |name: &String| {
            models
                .open(name)
                .is_ok_and(|model| model.profile().capabilities.vision)
        };
        if let Some(eyes) = names.into_iter().find(sees) {
            tools.push(Arc::new(InspectImage {
                models: models.clone(),
                eyes,
                spending: spending.clone(),
                purse: purse.clone(),
                images: images.clone(),
            }));
        }
    }
    tools
}

/// Asks a model one thing, if there is something left to pay it with.
pub(crate) async fn ask(
    model: &Arc<dyn Model>,
    messages: Vec<Message>,
    call: &Call,
    (purse, spending): (&Purse, &Spending),
) -> Result<Reply, String> {
    if purse.is_spent_after(spending.not_counted()).is_some() {
        return Err(NOTHING_LEFT.to_owned());
    }
    let request = Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::new([]),
        cache_key: None,
    };
    tokio::select! {
        reply = deft_llm::complete(model.as_ref(), request, |_| {}) => reply.map_err(|error| error.to_string()),
        () = call.cancel.cancelled() => Err(ToolError::Cancelled.to_string()),
    }
}

/// Goes on with another model.
struct SwitchModel {
    models: Arc<dyn Models>,
}

impl Tool for SwitchModel {
    fn spec(&self) -> ToolSpec {
        let description = format!(
            "Goes on with another model from the next reply on. Known by name: {}.",
            self.models.names().join(", ")
        );
        let properties = json!({
            "profile_name": {"type": "string", "description": "The model's name."},
            "reason": {"type": "string", "description": "Why, in a sentence."},
        });
        let required = ["profile_name", "reason"];
        let mut spec = spec(
            "switch_llm",
            "SwitchLLM",
            Reach::Files,
            &description,
            &properties,
            &required,
        );
        if let Some(hints) = &mut spec.definition.annotations {
            hints.destructive_hint = false;
        }
        spec
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Only("model".to_owned())
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::SwitchLLM(action) = call.action else {
                return Err(wrong("switch_llm", &call.action));
            };
            let opened = self.models.open(&action.profile_name);
            let text = match &opened {
                Ok(model) => format!("From the next reply on, {} answers.", model.profile().name),
                Err(error) => format!("Nothing was changed: {error}."),
            };
            Ok(SwitchLLMObservation {
                content: vec![Content::text(text)],
                is_error: opened.is_err(),
                active_model: opened.ok().map(|model| model.profile().name.clone()),
                reason: Some(action.reason.clone()),
                profile_name: action.profile_name.clone(),
                ..SwitchLLMObservation::default()
            }
            .into())
        }
        .boxed()
    }
}

/// Asks the model that the user named `oracle`.
struct AskOracle {
    models: Arc<dyn Models>,
    spending: Spending,
    purse: Purse,
}

impl Tool for AskOracle {
    fn spec(&self) -> ToolSpec {
        let properties = json!({
            "question": {"type": "string", "description": "What you want to know. It sees nothing else."},
            "context": {"type": "string", "description": "What it must know to answer: code, errors, what was tried."},
        });
        let description = "Asks a stronger model for advice, once. Use it when you are stuck or a decision is hard to undo.";
        spec(
            "ask_oracle",
            "AskOracle",
            Reach::Nothing,
            description,
            &properties,
            &["question"],
        )
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::AskOracle(action) = &call.action else {
                return Err(wrong("ask_oracle", &call.action));
            };
            let mut question = action.question.clone();
            if let Some(context) = &action.context {
                question = format!("{question}\n\n{context}");
            }
            let messages = vec![
                Message::text(Role::System, ORACLE_PROMPT),
                Message::text(Role::User, question),
            ];
            let answer = match self.models.open(ORACLE) {
                Ok(model) => ask(&model, messages, &call, (&self.purse, &self.spending))
                    .await
                    .map(|reply| {
                        let text = reply.text.clone();
                        self.spending.add(ORACLE.to_owned(), model, reply);
                        text
                    }),
                Err(error) => Err(error.to_string()),
            };
            let is_error = answer.is_err();
            let text = answer.unwrap_or_else(|error| format!("The oracle gave no answer: {error}"));
            Ok(AskOracleObservation {
                content: vec![Content::text(text)],
                is_error,
                ..AskOracleObservation::default()
            }
            .into())
        }
        .boxed()
    }
}

/// Has a model that sees look at an image for one that does not.
struct InspectImage {
    models: Arc<dyn Models>,
    /// The model that looks unless another is asked for.
    eyes: String,
    spending: Spending,
    purse: Purse,
    images: Images,
}

impl InspectImage {
    async fn look(
        &self,
        index: i64,
        question: &str,
        name: &str,
        call: &Call,
    ) -> Result<(String, String), String> {
        let image = self
            .images
            .get(index)
            .ok_or_else(|| format!("there is no image {index}; the first one is 0"))?;
        let model = self.models.open(name).map_err(|error| error.to_string())?;
        let image = Content::Image(ImageContent {
            image_urls: vec![image],
            ..ImageContent::default()
        });
        let message = Message::new(Role::User, vec![Content::text(question), image]);
        let reply = ask(&model, vec![message], call, (&self.purse, &self.spending)).await?;
        let (text, answered) = (reply.text.clone(), model.profile().name.clone());
        self.spending.add(format!("vision:{name}"), model, reply);
        Ok((text, answered))
    }
}

impl Tool for InspectImage {
    fn spec(&self) -> ToolSpec {
        let properties = json!({
            "image_index": {"type": "integer", "minimum": 0, "description": "Which of the user's images; the first is 0."},
            "question": {"type": "string", "minLength": 1, "description": "What you want to know about it."},
            "profile_name": {"type": "string", "description": "Another model to look at it."},
        });
        let description = "Asks a model that can see about an image that the user sent.";
        let required = ["image_index", "question"];
        let mut spec = spec(
            INSPECT_IMAGE,
            "VisionInspect",
            Reach::Nothing,
            description,
            &properties,
            &required,
        );
        if let Some(hints) = &mut spec.definition.annotations {
            hints.open_world_hint = true;
        }
        spec
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::VisionInspect(action) = &call.action else {
                return Err(wrong(INSPECT_IMAGE, &call.action));
            };
            let name = action.profile_name.as_deref().unwrap_or(&self.eyes);
            let seen = self.look(action.image_index, &action.question, name, &call).await;
            let text = match &seen {
                Ok((text, _)) => text.clone(),
                Err(error) => format!("Nobody could look at the image: {error}."),
            };
            let is_error = seen.is_err();
            let (answer, model) = seen.ok().unzip();
            Ok(VisionInspectObservation {
                content: vec![Content::text(text)],
                is_error,
                image_index: action.image_index,
                question: action.question.clone(),
                profile_name: Some(name.to_owned()),
                model,
                answer,
                ..VisionInspectObservation::default()
            }
            .into())
        }
        .boxed()
    }
}

pub(crate) fn wrong(tool: &'static str, action: &Action) -> ToolError {
    ToolError::WrongAction {
        tool,
        kind: action.kind().to_owned(),
    }
}
