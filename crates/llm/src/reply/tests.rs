use deft_types::Tokens;
use futures::stream::{self, BoxStream};

use super::*;
use crate::{Capabilities, ModelProfile, Prices};

/// Answers with what it is given.
struct Given {
    profile: ModelProfile,
    deltas: Vec<Delta>,
}

impl Model for Given {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        Box::pin(stream::iter(self.deltas.clone().into_iter().map(Ok)))
    }
}

async fn reply_of(deltas: Vec<Delta>) -> Result<Reply, ModelError> {
    let profile = ModelProfile {
        name: "given".to_owned(),
        context_window: None,
        max_output: None,
        prices: Some(Prices::FREE),
        capabilities: Capabilities::default(),
    };
    complete(&Given { profile, deltas }, Request::default(), |_| ()).await
}

fn call(index: usize, name: &str) -> Delta {
    Delta::ToolCall {
        index,
        id: None,
        name: Some(name.to_owned()),
        arguments: "{}".to_owned(),
        item_id: None,
    }
}

#[tokio::test]
async fn a_stream_that_ends_without_its_end_is_a_network_failure() {
    let error = reply_of(vec![Delta::Text("Hal".to_owned())]).await.unwrap_err();
    assert!(matches!(error, ModelError::Network { .. }), "{error:?}");
}

#[tokio::test]
async fn a_gap_in_the_numbers_of_calls_is_no_call() {
    let finished = Delta::Finished(FinishReason::ToolCalls);
    let reply = reply_of(vec![call(2, "b"), call(0, "a"), finished])
        .await
        .unwrap();
    let names: Vec<_> = reply.tool_calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[tokio::test]
async fn a_reply_without_an_id_is_given_one_of_its_own() {
    let finished = || vec![Delta::Finished(FinishReason::Stop)];
    let first = reply_of(finished()).await.unwrap().response_id;
    assert_ne!(first, reply_of(finished()).await.unwrap().response_id);
    assert!(!first.is_empty());
}

#[tokio::test]
async fn a_reply_without_bounds_is_refused() {
    let piece = Delta::Text("x".repeat(MAX_REPLY_BYTES / 2 + 1));
    let long = reply_of(vec![piece.clone(), piece]).await.unwrap_err();
    let many = reply_of(vec![call(MAX_TOOL_CALLS, "a")]).await.unwrap_err();
    for error in [long, many] {
        assert!(matches!(error, ModelError::Protocol { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn attempts_that_came_to_nothing_are_paid_for_too() {
    let used = |picodollars| {
        Delta::Usage(Usage {
            prompt: Tokens(7),
            cost: Some(Money::from_picodollars(picodollars)),
            ..Usage::default()
        })
    };
    let retry = |attempt| Delta::Retry {
        attempt,
        wait: Duration::ZERO,
        reason: "it broke off".to_owned(),
    };
    let finished = Delta::Finished(FinishReason::Stop);
    let deltas = vec![
        used(1),
        used(20),
        retry(2),
        used(300),
        retry(3),
        used(4_000),
        finished,
    ];
    let reply = reply_of(deltas).await.unwrap();
    assert_eq!(reply.cost, Some(Money::from_picodollars(4_320)));
    assert_eq!(reply.usage.prompt, Tokens(7), "the last request's own size");
}
