use std::sync::Mutex;

use futures::stream;

use super::*;
use crate::{FinishReason, Prices, complete};

/// Fails in the given ways, one a call, and then answers.
struct Failing {
    profile: ModelProfile,
    failures: Mutex<Vec<ModelError>>,
}

impl Model for Failing {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let mut failures = self.failures.lock().unwrap();
        let mut deltas = vec![Ok(Delta::Text("half".to_owned()))];
        if failures.is_empty() {
            deltas = vec![
                Ok(Delta::Text("whole".to_owned())),
                Ok(Delta::Finished(FinishReason::Stop)),
            ];
        } else {
            deltas.push(Err(failures.remove(0)));
        }
        Box::pin(stream::iter(deltas))
    }
}

fn model(failures: Vec<ModelError>) -> Retrying {
    let profile = ModelProfile {
        prices: Some(Prices::FREE),
        ..ModelProfile::unknown("failing")
    };
    Retrying {
        model: Arc::new(Failing {
            profile,
            failures: Mutex::new(failures),
        }),
        policy: RetryPolicy::default(),
        chance: || 1.0,
    }
}

fn overloaded() -> ModelError {
    ModelError::Overloaded {
        retry_after: None,
        detail: "busy".to_owned(),
    }
}

fn rate_limit(seconds: u64) -> ModelError {
    ModelError::RateLimit {
        retry_after: Some(Duration::from_secs(seconds)),
        detail: "slow".to_owned(),
    }
}

/// The text of the reply, and the waits before it.
async fn ask(model: &Retrying) -> (Result<String, ModelError>, Vec<u64>) {
    let mut waits = Vec::new();
    let reply = complete(model, Request::default(), |delta| {
        if let Delta::Retry { wait, .. } = delta {
            waits.push(wait.as_secs());
        }
    })
    .await;
    (reply.map(|reply| reply.text), waits)
}

#[tokio::test(start_paused = true)]
async fn a_failure_for_the_moment_is_waited_out_and_its_half_reply_forgotten() {
    let (reply, waits) = ask(&model(vec![overloaded(), overloaded(), overloaded()])).await;
    assert_eq!(reply.unwrap(), "whole");
    assert_eq!(waits, [8, 16, 32]);
}

#[tokio::test(start_paused = true)]
async fn the_server_says_how_long_to_wait_within_reason() {
    let (reply, waits) = ask(&model(vec![rate_limit(20)])).await;
    assert_eq!(
        (reply.unwrap().as_str(), waits.as_slice()),
        ("whole", [20].as_slice())
    );
    let (reply, waits) = ask(&model(vec![rate_limit(7200)])).await;
    assert_eq!((reply.unwrap_err(), waits.len()), (rate_limit(7200), 0));
}

#[tokio::test(start_paused = true)]
async fn after_the_last_attempt_the_failure_is_reported() {
    let (reply, waits) = ask(&model(vec![overloaded(); 9])).await;
    assert_eq!(
        (reply.unwrap_err(), waits.as_slice()),
        (overloaded(), [8, 16, 32, 64].as_slice())
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_makes_no_sense_is_asked_for_once_more() {
    let page = ModelError::Protocol {
        detail: "a web page".to_owned(),
    };
    let (reply, waits) = ask(&model(vec![page.clone(); 9])).await;
    assert_eq!((reply.unwrap_err(), waits.as_slice()), (page, [8].as_slice()));
}

#[tokio::test(start_paused = true)]
async fn what_asking_again_cannot_mend_is_reported_at_once() {
    for error in [
        ModelError::Authentication {
            detail: String::new(),
        },
        ModelError::Quota {
            detail: String::new(),
        },
        ModelError::BadRequest {
            detail: String::new(),
        },
        ModelError::ContextWindowExceeded {
            detail: String::new(),
        },
        ModelError::ContentPolicy {
            detail: String::new(),
        },
    ] {
        let (reply, waits) = ask(&model(vec![error.clone()])).await;
        assert_eq!((reply.unwrap_err(), waits.len()), (error, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_has_a_limit_in_all() {
    let mut model = model(vec![overloaded(); 9]);
    model.policy.total_timeout = Duration::from_secs(20);
    let (reply, waits) = ask(&model).await;
    assert_eq!(
        (reply.unwrap_err(), waits.as_slice()),
        (overloaded(), [8].as_slice())
    );
}
