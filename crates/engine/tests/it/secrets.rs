//! Secrets are hidden in all that is stored and shown, whoever wrote them.

use std::collections::BTreeMap;

use deft_engine::{Conversation, Live, SecretSources};
use deft_tools::SecretSet;
use deft_types::{Secret, Status};

use crate::desk::{Desk, say, settled};

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
    let secret = ("TOKEN".to_owned(), Secret::new("hunter2-and-more".to_owned()));
    parts.outfit.secrets = SecretSources {
        values: SecretSet::new(BTreeMap::from([secret])).unwrap(),
        lookup: None,
    };
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
