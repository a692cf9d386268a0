//! Models by names of the user's own, with those that stand in for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fallback::Fallback;
use crate::open::open;
use crate::router::{Condition, Router};
use crate::{Model, ModelSettings, OpenModelError};

/// A model under a name of the user's own, such as `fast` or `strong`.
#[derive(Clone, Debug)]
pub struct NamedModel {
    /// What it is, as [`open`] understands it.
    pub model: String,
    /// How it is reached.
    pub settings: ModelSettings,
    /// Who is asked when it fails for the moment, in this order: names of this kind, or of [`open`]'s.
    pub fallback: Vec<String>,
    /// Who is asked instead for some requests; the first that fits.
    pub routes: Vec<(Condition, String)>,
}

/// How a model is reached, by its name.
pub type SettingsFor<'a> = dyn Fn(&str) -> ModelSettings + 'a;

/// Every model that can be referred to by name.
pub struct Registry<'a> {
    /// Those that have a name of their own.
    pub named: BTreeMap<String, NamedModel>,
    /// How any other is reached: a key is meant for one provider, not for whoever stands in.
    pub settings: Box<SettingsFor<'a>>,
}

impl Registry<'_> {
    /// Opens a model with those that stand in for it.
    pub fn open(&self, name: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        let model = self.open_alone(name)?;
        let Some(named) = self.named.get(name) else {
            return Ok(model);
        };
        let others = |names: &[String]| {
            names
                .iter()
                .map(|name| self.open_alone(name))
                .collect::<Result<Vec<_>, _>>()
        };
        let model: Arc<dyn Model> = match others(&named.fallback)? {
            others if others.is_empty() => model,
            others => Arc::new(Fallback::new(model, others)),
        };
        if named.routes.is_empty() {
            return Ok(model);
        }
        let routes = named
            .routes
            .iter()
            .map(|(condition, name)| Ok((*condition, self.open_alone(name)?)));
        Ok(Arc::new(Router {
            usual: model,
            routes: routes.collect::<Result<_, OpenModelError>>()?,
        }))
    }

    /// Opens one model. Those that stand in have none of their own: chains would be hard to follow.
    fn open_alone(&self, name: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        match self.named.get(name) {
            Some(named) => open(&named.model, &named.settings),
            None => open(name, &(self.settings)(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, Request, complete};
    use deft_types::{Content, ImageContent, Message, Money, Role};

    fn script(directory: &tempfile::TempDir, name: &str, text: &str) -> String {
        let file = directory.path().join(name);
        std::fs::write(&file, text).unwrap();
        format!("script:{}", file.display())
    }

    fn named(model: &str, fallback: &[&str], routes: Vec<(Condition, String)>) -> NamedModel {
        NamedModel {
            model: model.to_owned(),
            settings: ModelSettings::default(),
            fallback: fallback.iter().map(|name| (*name).to_owned()).collect(),
            routes,
        }
    }

    async fn answer(
        registry: &Registry<'_>,
        name: &str,
        message: Message,
    ) -> (String, Option<Money>, Vec<String>) {
        let model = registry.open(name).unwrap();
        let request = Request {
            messages: vec![Arc::new(message)],
            ..Request::default()
        };
        let mut reasons = Vec::new();
        let reply = complete(model.as_ref(), request, |delta| {
            if let Delta::Retry { reason, .. } = delta {
                reasons.push(reason.clone());
            }
        });
        let reply = reply.await.unwrap();
        (reply.text, reply.cost, reasons)
    }

    #[tokio::test]
    async fn the_next_model_answers_when_one_fails_for_the_moment() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry {
            named: BTreeMap::from([
                (
                    "strong".to_owned(),
                    named(
                        &script(&directory, "a", "[{error: {status: 503}}]"),
                        &["fast"],
                        vec![],
                    ),
                ),
                (
                    "fast".to_owned(),
                    named(
                        &script(&directory, "b", "[{text: from fast, cost: 0.25}]"),
                        &[],
                        vec![],
                    ),
                ),
            ]),
            settings: Box::new(|_| ModelSettings::default()),
        };
        let (text, cost, reasons) = answer(&registry, "strong", Message::text(Role::User, "hi")).await;
        assert_eq!(
            (text.as_str(), cost),
            ("from fast", Some(Money::from_picodollars(250_000_000_000)))
        );
        assert!(
            reasons.len() == 1 && reasons[0].contains("going on with script:"),
            "{reasons:?}"
        );
    }

    #[tokio::test]
    async fn no_other_model_is_asked_where_that_would_only_hide_a_mistake() {
        let directory = tempfile::tempdir().unwrap();
        let failing = script(&directory, "a", "[{error: {status: 401}}]");
        let registry = Registry {
            named: BTreeMap::from([("strong".to_owned(), named(&failing, &["demo"], vec![]))]),
            settings: Box::new(|_| ModelSettings::default()),
        };
        let model = registry.open("strong").unwrap();
        assert!(
            complete(model.as_ref(), Request::default(), |_| ())
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn requests_with_images_or_of_great_length_take_their_route() {
        let directory = tempfile::tempdir().unwrap();
        let say = |name: &str| script(&directory, name, &format!("[{{text: {name}}}]"));
        let routes = vec![
            (Condition::HasImage, say("eyes")),
            (Condition::AtLeast(deft_types::Tokens(1000)), say("long")),
        ];
        let registry = Registry {
            named: BTreeMap::from([("usual".to_owned(), named(&say("plain"), &[], routes))]),
            settings: Box::new(|_| ModelSettings::default()),
        };
        let image = Content::Image(ImageContent {
            image_urls: vec!["data:,".to_owned()],
            ..ImageContent::default()
        });
        for (message, expected) in [
            (Message::text(Role::User, "hi"), "plain"),
            (Message::text(Role::User, "word ".repeat(1_100)), "long"),
            (Message::new(Role::User, vec![image]), "eyes"),
        ] {
            assert_eq!(answer(&registry, "usual", message).await.0, expected);
        }
    }
}
