use std::sync::atomic::{AtomicUsize, Ordering};

use deft_types::{Money, Tokens};
use futures::stream;

use super::*;
use crate::{FinishReason, Usage};

/// Says one thing, or fails; counts how often it is asked.
struct Says(ModelProfile, Result<&'static str, ModelError>, AtomicUsize);

fn says(name: &str, text: Result<&'static str, ModelError>) -> Arc<Says> {
    Arc::new(Says(ModelProfile::unknown(name), text, AtomicUsize::new(0)))
}

impl Model for Says {
    fn profile(&self) -> &ModelProfile {
        &self.0
    }

    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        self.2.fetch_add(1, Ordering::SeqCst);
        let usage = Delta::Usage(Usage {
            prompt: Tokens(10),
            cost: Some(Money::from_picodollars(5)),
            ..Usage::default()
        });
        let rest = match &self.1 {
            Ok(text) => vec![
                Ok(Delta::Text((*text).to_owned())),
                Ok(Delta::Finished(FinishReason::Stop)),
            ],
            Err(error) => vec![Err(error.clone())],
        };
        stream::iter([Ok(usage)]).chain(stream::iter(rest)).boxed()
    }
}

fn router(classifier: Arc<Says>) -> ClassRouter {
    let class = |name: &str| TaskClass {
        name: name.to_owned(),
        description: format!("what is {name}"),
        model: String::new(),
    };
    let classes: [(TaskClass, Arc<dyn Model>); 2] = [
        (class("Design"), says("designer", Ok("from the designer"))),
        (class("proof"), says("prover", Ok("from the prover"))),
    ];
    ClassRouter::new(says("usual", Ok("as usual")), classifier, classes.into())
}

async fn answer(router: &ClassRouter, messages: &[(Role, &str)]) -> (String, Vec<OtherUse>) {
    let request = Request {
        messages: messages
            .iter()
            .map(|(role, text)| Arc::new(Message::text(*role, *text)))
            .collect(),
        ..Request::default()
    };
    let mut others = Vec::new();
    let reply = complete(router, request, |delta| {
        if let Delta::OtherUse(other) = delta {
            others.push(other.clone());
        }
    });
    (reply.await.unwrap().text, others)
}

#[tokio::test]
async fn the_class_decides_and_where_nobody_can_tell_it_is_as_usual() {
    let gone = ModelError::Unavailable {
        detail: "gone".to_owned(),
    };
    let cases = [
        (Ok("2"), "from the prover"),
        (Ok(" design\n"), "from the designer"),
        (Ok("It is class 1."), "from the designer"),
        (Ok("This is a proof, I think"), "from the prover"),
        (Ok("0"), "as usual"),
        (Ok("7"), "as usual"),
        (Ok("design or proof"), "as usual"),
        (Ok(""), "as usual"),
        (Err(gone), "as usual"),
    ];
    for (word, expected) in cases {
        let router = router(says("judge", word.clone()));
        let (text, others) = answer(&router, &[(Role::User, "Do it.")]).await;
        assert_eq!(text, expected, "{word:?}");
        let [other] = others.as_slice() else {
            panic!("{others:?}")
        };
        assert_eq!(
            (other.usage_id.as_str(), other.model.as_str()),
            ("classifier:judge", "judge")
        );
        assert_eq!(other.usage.cost, Some(Money::from_picodollars(5)));
    }
}

#[tokio::test]
async fn the_judge_is_asked_once_for_each_message_of_the_user() {
    let judge = says("judge", Ok("2"));
    let router = router(Arc::clone(&judge));
    let mut messages = vec![(Role::User, "Prove it.")];
    for _ in 0..3 {
        assert_eq!(answer(&router, &messages).await.0, "from the prover");
        messages.push((Role::Assistant, "Step."));
    }
    assert_eq!(judge.2.load(Ordering::SeqCst), 1);
    messages.push((Role::User, "And that."));
    assert_eq!(answer(&router, &messages).await.1.len(), 1);
    assert_eq!(judge.2.load(Ordering::SeqCst), 2);
    assert_eq!(
        answer(&router, &[(Role::Assistant, "Nobody asked.")]).await,
        ("as usual".to_owned(), vec![])
    );
}

#[test]
fn the_judge_sees_the_classes_and_only_the_end() {
    let router = router(says("judge", Ok("1")));
    let message = |n: usize| {
        Arc::new(Message::text(
            Role::User,
            format!("number {n} {}", "x".repeat(5_000)),
        ))
    };
    let request = Request {
        messages: (0..9).map(message).collect(),
        ..Request::default()
    };
    let question = router.0.question(&request);
    let [instructions, said] = [0, 1].map(|at: usize| question.messages[at].plain_text());
    assert!(
        instructions.contains("1. Design: what is Design\n2. proof: what is proof"),
        "{instructions}"
    );
    assert!(said.contains("number 3 ") && said.contains("number 8 ") && !said.contains("number 2 "));
    assert!(said.len() < 7 * MAX_CHARS_SHOWN);
}
