//! Chooses a model by what is asked of it.

use std::sync::Arc;

use deft_types::{Content, Tokens};
use futures::stream::BoxStream;

use crate::{Delta, Model, ModelError, ModelProfile, Request};

/// About what a token is, for a choice that need not be exact.
const CHARS_PER_TOKEN: usize = 4;

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
        let parts = || request.messages.iter().flat_map(|message| &message.content);
        match self {
            Self::HasImage => parts().any(|part| matches!(part, Content::Image(_))),
            Self::AtLeast(tokens) => {
                let chars: usize = parts().filter_map(Content::as_text).map(str::len).sum();
                (chars / CHARS_PER_TOKEN) as u64 >= tokens.0
            }
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
        let route = self
            .routes
            .iter()
            .find(|(condition, _)| condition.holds(&request));
        route.map_or(&self.usual, |(_, model)| model).stream(request)
    }
}
