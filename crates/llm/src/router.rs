//! Chooses a model by what is asked of it.

use std::sync::Arc;

use deft_types::{Content, Tokens};
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::{Delta, Model, ModelError, ModelProfile, Request, TokenCount, tokens};

/// What a request must be for a route to be taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// It holds an image.
    HasImage,
    /// It is about this long or longer.
    AtLeast(Tokens),
}

impl Condition {
    fn holds(self, request: &Request) -> bool {
        match self {
            Self::HasImage => {
                let mut parts = request.messages.iter().flat_map(|message| &message.content);
                parts.any(|part| matches!(part, Content::Image(_)))
            }
            Self::AtLeast(tokens) => tokens::estimate(request) >= tokens,
        }
    }
}

/// The first route whose condition holds is taken, else the usual model.
pub(crate) struct Router {
    pub(crate) usual: Arc<dyn Model>,
    pub(crate) routes: Vec<(Condition, Arc<dyn Model>)>,
}

impl Model for Router {
    fn profile(&self) -> &ModelProfile {
        self.usual.profile()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        self.chosen(&request).stream(request)
    }

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        self.chosen(&request).count(request)
    }
}

impl Router {
    fn chosen(&self, request: &Request) -> &dyn Model {
        let mut routes = self.routes.iter();
        let route = routes.find(|(condition, _)| condition.holds(request));
        route.map_or(&self.usual, |(_, model)| model).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use deft_types::{Extra, Message, Role, ToolCall, ToolCallOrigin};

    use super::*;

    #[test]
    fn what_calls_say_makes_a_request_long_too() {
        let mut message = Message::text(Role::Assistant, "Writing.");
        message.tool_calls = Some(vec![ToolCall {
            id: "a".to_owned(),
            responses_item_id: None,
            name: "write".to_owned(),
            arguments: "word ".repeat(2_000),
            origin: ToolCallOrigin::Completion,
            extra: Extra::new(),
        }]);
        let request = Request {
            messages: vec![Arc::new(message)].into(),
            ..Request::default()
        };
        assert!(Condition::AtLeast(Tokens(1_000)).holds(&request));
        assert!(!Condition::AtLeast(Tokens(10_000)).holds(&request));
    }
}
