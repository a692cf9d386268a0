//! Models by names of the user's own, with those that stand in for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fallback::with_stand_ins;
use crate::open::open;
use crate::router::{Condition, Router};
use crate::task_class::{ClassRouter, TaskClasses};
use crate::{Model, ModelSettings, OpenModelError, PrefixWatch};

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
    /// Who is asked instead for some kinds of tasks, where no route fits.
    pub classes: Option<TaskClasses>,
}

/// How a model is reached, by its name.
pub type SettingsFor<'a> = dyn Fn(&str) -> ModelSettings + 'a;

/// Every model that can be referred to by name.
pub struct Registry<'a> {
    /// Those that have a name of their own.
    pub named: BTreeMap<String, NamedModel>,
    /// How any other is reached: a key is meant for one provider, not for whoever stands in.
    pub settings: Box<SettingsFor<'a>>,
    /// Sees when requests of a conversation do not begin alike, also where its model is switched.
    pub prefixes: PrefixWatch,
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
        let model = with_stand_ins(model, others(&named.fallback)?);
        let model = match &named.classes {
            None => model,
            Some(classes) => self.by_class(model, classes)?,
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

    fn by_class(
        &self,
        usual: Arc<dyn Model>,
        classes: &TaskClasses,
    ) -> Result<Arc<dyn Model>, OpenModelError> {
        let classifier = self.open_alone(&classes.classifier)?;
        let classes = classes.classes.iter();
        let classes = classes.map(|class| Ok((class.clone(), self.open_alone(&class.model)?)));
        let classes = classes.collect::<Result<_, OpenModelError>>()?;
        Ok(Arc::new(ClassRouter::new(usual, classifier, classes)))
    }

    /// Opens one model. Those that stand in have none of their own: chains would be hard to follow.
    fn open_alone(&self, name: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        let model = match self.named.get(name) {
            Some(named) => open(&named.model, &named.settings),
            None => open(name, &(self.settings)(name)),
        };
        Ok(self.prefixes.over(model?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, PrefixChange, Request, Spent, TaskClass, complete};
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
            classes: None,
        }
    }

    async fn answer(
        registry: &Registry<'_>,
        name: &str,
        message: Message,
    ) -> (String, Option<Money>, Vec<String>) {
        let model = registry.open(name).unwrap();
        let request = Request {
            messages: vec![Arc::new(message)].into(),
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
            prefixes: PrefixWatch::default(),
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
            prefixes: PrefixWatch::default(),
        };
        let model = registry.open("strong").unwrap();
        assert!(
            complete(model.as_ref(), Request::default(), |_| ())
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_task_goes_to_the_model_of_its_class_and_the_judge_is_paid() {
        let directory = tempfile::tempdir().unwrap();
        let judge = script(&directory, "judge", "[{text: '1', cost: 0.5}]");
        let mut usual = named(&script(&directory, "usual", "[{text: usual}]"), &[], vec![]);
        usual.classes = Some(TaskClasses {
            classifier: judge.clone(),
            classes: vec![TaskClass {
                name: "design".to_owned(),
                description: "how things look".to_owned(),
                model: script(&directory, "designer", "[{text: designed}]"),
            }],
        });
        let registry = Registry {
            named: BTreeMap::from([("main".to_owned(), usual)]),
            settings: Box::new(|_| ModelSettings::default()),
            prefixes: PrefixWatch::default(),
        };
        let model = registry.open("main").unwrap();
        let request = Request {
            messages: vec![Arc::new(Message::text(Role::User, "Make it blue."))].into(),
            ..Request::default()
        };
        let mut spent = Spent::default();
        let reply = complete(model.as_ref(), request, |delta| spent.add(delta))
            .await
            .unwrap();
        assert_eq!(reply.text, "designed");
        assert_eq!(spent.others[0].usage_id, format!("classifier:{judge}"));
        assert_eq!(spent.others[0].usage.cost, "0.5".parse().ok());
    }

    #[tokio::test]
    async fn a_model_that_is_switched_is_a_changed_prefix() {
        let registry = Registry {
            named: BTreeMap::new(),
            settings: Box::new(|_| ModelSettings::default()),
            prefixes: PrefixWatch::default(),
        };
        let directory = tempfile::tempdir().unwrap();
        let mut changes = Vec::new();
        for name in ["a", "b"] {
            let model = registry.open(&script(&directory, name, "[{text: hi}]")).unwrap();
            let request = Request {
                cache_key: Some("conversation".to_owned()),
                ..Request::default()
            };
            let reply = complete(model.as_ref(), request, |_| ()).await.unwrap();
            changes.push(reply.prefix_change);
        }
        assert_eq!(changes[0], None);
        assert!(matches!(&changes[1], Some(PrefixChange::Model { before }) if before.ends_with("/a")));
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
            prefixes: PrefixWatch::default(),
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
