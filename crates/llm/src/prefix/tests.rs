use deft_types::Message;
use futures::stream;
use serde_json::json;

use super::*;
use crate::{FinishReason, ToolSchema, Usage, complete};

struct Caching(ModelProfile, Tokens);

impl Model for Caching {
    fn profile(&self) -> &ModelProfile {
        &self.0
    }

    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let usage = Usage {
            cache_read: self.1,
            ..Usage::default()
        };
        stream::iter([Ok(Delta::Usage(usage)), Ok(Delta::Finished(FinishReason::Stop))]).boxed()
    }
}

fn request(messages: &[&str], tools: &[&str]) -> Request {
    let role = |at| if at == 0 { Role::System } else { Role::User };
    let messages = messages.iter().enumerate();
    let tools = tools.iter().map(|name| ToolSchema {
        name: (*name).to_owned(),
        description: String::new(),
        parameters: json!({}),
    });
    Request {
        messages: messages
            .map(|(at, text)| Arc::new(Message::text(role(at), *text)))
            .collect(),
        tools: tools.collect(),
        cache_key: Some("c".to_owned()),
    }
}

async fn ask(watch: &PrefixWatch, model: &str, cached: u64, request: Request) -> Option<PrefixChange> {
    let model = watch.over(Arc::new(Caching(ModelProfile::unknown(model), Tokens(cached))));
    complete(&*model, request, |_| ()).await.unwrap().prefix_change
}

#[tokio::test]
async fn each_reason_is_named() {
    let base = || request(&["s", "a", "b"], &["t"]);
    let message = |number| PrefixChange::Message { number, of: 3 };
    let before = "m".to_owned();
    let cases = [
        ("m", 9, request(&["s", "a", "b", "c"], &["t"]), None),
        ("m", 9, request(&["s", "a"], &["t"]), None),
        ("n", 9, base(), Some(PrefixChange::Model { before })),
        (
            "m",
            9,
            request(&["s", "a", "b"], &["t", "u"]),
            Some(PrefixChange::Tools),
        ),
        (
            "m",
            9,
            request(&["x", "a", "b"], &["t"]),
            Some(PrefixChange::Instructions),
        ),
        ("m", 9, request(&["s", "a", "x", "c"], &["t"]), Some(message(3))),
        (
            "m",
            4,
            base(),
            Some(PrefixChange::Forgotten {
                before: Tokens(9),
                now: Tokens(4),
            }),
        ),
    ];
    for (model, cached, next, expected) in cases {
        let watch = PrefixWatch::default();
        assert_eq!(
            ask(&watch, "m", 9, base()).await,
            None,
            "the first has none before it"
        );
        assert_eq!(ask(&watch, model, cached, next).await, expected);
    }
}

#[tokio::test]
async fn conversations_are_told_apart_and_only_so_many_are_watched() {
    let watch = PrefixWatch::default();
    let of = |conversation: usize, text: &str| Request {
        cache_key: Some(conversation.to_string()),
        ..request(&["s", text], &[])
    };
    for conversation in 0..=MAX_WATCHED {
        assert_eq!(ask(&watch, "m", 0, of(conversation, "a")).await, None);
    }
    assert!(ask(&watch, "m", 0, of(MAX_WATCHED, "b")).await.is_some());
    assert_eq!(ask(&watch, "m", 0, of(0, "b")).await, None, "forgotten");
    let unnamed = Request {
        cache_key: None,
        ..request(&["s"], &[])
    };
    assert_eq!(ask(&watch, "m", 0, unnamed).await, None);
}

#[tokio::test]
async fn a_cold_cache_after_a_restart_is_said_to_be_unexplained() {
    let ask = async |caches: bool, cached: u64, role: Role| {
        let mut profile = ModelProfile::unknown("m");
        profile.capabilities.prompt_cache_key = caches;
        let model = PrefixWatch::default().over(Arc::new(Caching(profile, Tokens(cached))));
        let mut request = request(&["s", "a"], &[]);
        request.messages.push(Arc::new(Message::text(role, "b")));
        complete(&*model, request, |_| ()).await.unwrap().prefix_change
    };
    assert_eq!(ask(true, 0, Role::Assistant).await, Some(PrefixChange::Unwatched));
    assert_eq!(ask(true, 9, Role::Assistant).await, None, "the cache was warm");
    assert_eq!(ask(true, 0, Role::User).await, None, "nothing was asked before");
    assert_eq!(ask(false, 0, Role::Assistant).await, None, "there is no cache");
}
