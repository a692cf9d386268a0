//! The tool that looks at images for a model that cannot.

use std::sync::{Arc, Mutex, PoisonError};

use deft_tools::{Call, Reach, Tool, ToolError, Touches, spec};
use deft_types::{
    Action, Content, ImageContent, Message, Observation, Role, ToolSpec, VisionInspectObservation,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use super::{Models, Spending, ask, wrong};
use crate::budget::Purse;

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

/// Has a model that sees look at an image for one that does not.
pub(super) struct InspectImage {
    pub(super) models: Arc<dyn Models>,
    /// The model that looks unless another is asked for.
    pub(super) eyes: String,
    pub(super) spending: Spending,
    pub(super) purse: Purse,
    pub(super) images: Images,
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
