//! Secrets are hidden in all that is stored and shown, whoever wrote them.

use std::collections::BTreeMap;
use std::sync::Arc;

use deft_engine::{Conversation, Critic, Live, Refinement, SecretSources};
use deft_llm::Model;
use deft_tools::SecretSet;
use deft_types::{Secret, Status};

use crate::desk::{Desk, say, settled};

fn token(value: &str) -> SecretSources {
    let secret = ("TOKEN".to_owned(), Secret::new(value.to_owned()));
    SecretSources {
        values: SecretSet::new(BTreeMap::from([secret])).unwrap(),
        lookup: None,
    }
}

#[tokio::test]
async fn what_the_model_and_the_user_write_is_stored_and_shown_without_secrets() {
    let script = r"
- text: 'I think of hunter2-and-more'
  tool_calls:
  - {name: think, arguments: {thought: hunter2-and-more}}
  - {name: terminal, arguments: {command: 'echo hunter2-and-more > written'}}
- text: 'It was hunter2-and-more.'
";
    let desk = Desk::new(script).await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.outfit.secrets = token("hunter2-and-more");
    let conversation = Conversation::open(parts).await.unwrap();
    let mut live = conversation.live();
    say(&conversation, "use hunter2-and-more").await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let log = format!("{:?}", desk.events().await);
    assert!(!log.contains("hunter2"), "{log}");
    assert_eq!(desk.file("written").trim(), "", "what is stored is what runs");
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
    let mut shown = String::new();
    while let Ok(piece) = live.try_recv() {
        match piece {
            Live::Delta { text, .. } => shown.push_str(&text),
            Live::CallDelta { arguments, .. } => shown.push_str(&arguments),
            _ => {}
        }
    }
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("It was <secret-hidden>."), "{shown}");
    assert!(shown.contains("echo <secret-hidden> > written"), "{shown}");
}

#[tokio::test]
async fn answers_on_the_side_critics_and_what_a_secret_was_before_are_hidden_too() {
    let script = "[{text: 'Now first-value and second-value.'}, {text: 'It is second-value.'}]";
    let desk = Desk::new(script).await;
    let critic = Desk::new(r#"[{text: '{"score": 0.9, "message": "you said second-value"}'}]"#).await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.outfit.secrets = token("first-value");
    let model: Arc<dyn Model> = critic.model.clone();
    parts.supervision.refinement = Some(Refinement {
        critic: Critic::Model(Some(model)),
        ..Refinement::default()
    });
    let conversation = Conversation::open(parts).await.unwrap();
    conversation.set_secrets(token("second-value")).await.unwrap();
    say(&conversation, "go").await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(critic.model.asked(), 1);
    let answer = conversation.ask_aside("which one?").await.unwrap();
    assert_eq!(answer, "It is <secret-hidden>.");
    let log = format!("{:?}", desk.events().await);
    assert!(log.contains("you said <secret-hidden>"), "{log}");
    assert!(
        !log.contains("first-value") && !log.contains("second-value"),
        "{log}"
    );
}
