//! Models of servers that know more about them than any table: how much they read, what they can do.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, TryStreamExt};

use crate::discover::served;
use crate::open::build;
use crate::{Ability, Delta, KnownCapabilities, Model, ModelError, ModelFacts, ModelProfile, ModelSettings};
use crate::{LocalKind, OpenModelError, Request, TokenCount};

/// How long a server may take to tell about its models. It may be at work, or not near.
const PATIENCE: Duration = Duration::from_secs(5);

/// A model whose server is asked about it with the first request. Where it says nothing, the guess stays.
pub(crate) struct LearningModel(Arc<Pupil>);

struct Pupil {
    name: String,
    kind: LocalKind,
    settings: ModelSettings,
    guessed: Arc<dyn Model>,
    learned: OnceLock<Arc<dyn Model>>,
}

impl LearningModel {
    pub(crate) fn new(
        name: &str,
        kind: LocalKind,
        settings: &ModelSettings,
        guessed: Arc<dyn Model>,
    ) -> Self {
        Self(Arc::new(Pupil {
            name: name.to_owned(),
            kind,
            settings: settings.clone(),
            guessed,
            learned: OnceLock::new(),
        }))
    }
}

impl Model for LearningModel {
    fn profile(&self) -> &ModelProfile {
        self.0.learned.get().unwrap_or(&self.0.guessed).profile()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let pupil = Arc::clone(&self.0);
        let reply = async move { Ok::<_, ModelError>(pupil.model().await.stream(request)) };
        Box::pin(reply.into_stream().try_flatten())
    }

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        let pupil = Arc::clone(&self.0);
        async move { pupil.model().await.count(request).await }.boxed()
    }
}

impl Pupil {
    async fn model(&self) -> Arc<dyn Model> {
        if let Some(model) = self.learned.get() {
            return Arc::clone(model);
        }
        let said = served(self.kind, &self.name, &self.settings, PATIENCE).await;
        match said.map(|facts| self.with(&facts)) {
            Some(Ok(model)) => Arc::clone(self.learned.get_or_init(|| model)),
            // It is asked again with the next request.
            Some(Err(_)) | None => Arc::clone(&self.guessed),
        }
    }

    fn with(&self, facts: &ModelFacts) -> Result<Arc<dyn Model>, OpenModelError> {
        let mut settings = self.settings.clone();
        settings.discovered = discovered(facts);
        let window = &mut settings.tuning.context_window;
        *window = window.or(facts.context_window);
        build(&self.name, &settings)
    }
}

/// What a server says in the words of the other sources.
fn discovered(facts: &ModelFacts) -> KnownCapabilities {
    let can = |ability| Some(facts.abilities.as_ref()?.contains(&ability));
    KnownCapabilities {
        vision: can(Ability::Vision),
        native_tool_calls: can(Ability::Tools),
        ..KnownCapabilities::default()
    }
}
