//! The programs of `examples/`, and the library of clients, against a real server.

use std::collections::BTreeMap;
use std::time::Duration;

use deft_client::{Client, ClientError, Conversation, NewConversation};
use deft_types::{ConfirmationPolicy, ConversationId, EventBody, Secret, Seq, SessionFrame, Status};
use futures::StreamExt;
use uuid::Uuid;

use crate::commands::Home;
use crate::serve::Served;

// Their `main` is for cargo.
#[allow(dead_code)]
#[path = "../../../../examples/hello.rs"]
mod hello;
#[allow(dead_code)]
#[path = "../../../../examples/own_tool.rs"]
mod own_tool;
#[allow(dead_code)]
#[path = "../../../../examples/remote.rs"]
mod remote;

const KEY: &str = "k-of-the-test";
const LIMIT: Duration = Duration::from_secs(60);
const ECHO: &str = "- tool_calls: [{name: terminal, arguments: {command: 'echo $TOKEN'}}]\n";
const FINISH: &str = "- tool_calls: [{name: finish, arguments: {message: all done}}]\n";

fn served(home: &Home) -> (Served, Client) {
    let served = Served::start(home, &[("SESSION_API_KEY", KEY), ("DEFT_EXECUTOR_LINGER", "20")]);
    let client = Client::new(&served.address(), &Secret::new(KEY.to_owned())).unwrap();
    (served, client)
}

async fn begin(home: &Home, client: &Client, script: &str) -> Conversation {
    let model = home.script(script);
    let new = NewConversation::new(model, home.work().display().to_string());
    client.begin(&new).await.unwrap()
}

async fn settled(conversation: &Conversation) -> Status {
    tokio::time::timeout(LIMIT, conversation.settled())
        .await
        .expect("it never settles")
        .unwrap()
}

#[tokio::test]
async fn hello_runs() {
    let home = Home::new();
    let said = hello::hello(home.root.path()).await.unwrap();
    assert!(
        said.contains("Hello from the workspace") && said.ends_with("Hello, world."),
        "{said}"
    );
}

#[tokio::test]
async fn own_tool_runs() {
    let home = Home::new();
    assert_eq!(
        own_tool::count(home.root.path()).await.unwrap(),
        "3 times\nThree."
    );
}

#[tokio::test]
async fn remote_runs() {
    let home = Home::new();
    let (served, _) = served(&home);
    let model = home.script(FINISH);
    let directory = home.work().display().to_string();
    let address = served.address();
    let running = remote::remote(&address, KEY, &model, &directory);
    let lines = tokio::time::timeout(LIMIT, running).await.unwrap().unwrap();
    assert!(
        lines.iter().any(|line| line.ends_with(" ActionEvent")),
        "{lines:?}"
    );
    assert_eq!(lines.last().unwrap(), "all done");
}

#[tokio::test]
async fn a_conversation_is_steered_by_the_client() {
    let home = Home::new();
    let (_served, client) = served(&home);
    let script = format!("{ECHO}{ECHO}{FINISH}");
    let id = ConversationId(Uuid::new_v4());
    let new = NewConversation::new(home.script(&script), home.work().display().to_string())
        .with_id(id)
        .with_tools(["terminal"])
        .with_policy(ConfirmationPolicy::AlwaysConfirm);
    let conversation = client.begin(&new).await.unwrap();
    assert_eq!(
        client.begin(&new).await.unwrap().id(),
        id,
        "the same again is the same"
    );
    let secrets = BTreeMap::from([("TOKEN".to_owned(), Secret::new("open-sesame".to_owned()))]);
    conversation.add_secrets(&secrets).await.unwrap();
    conversation.send("do it").await.unwrap();
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await, Status::WaitingForConfirmation);
    conversation.reject("not so").await.unwrap();
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await, Status::WaitingForConfirmation);
    conversation.approve().await.unwrap();
    // The end of the task waits for a word too.
    assert_eq!(settled(&conversation).await, Status::Finished);
    let events = conversation.events().await.unwrap();
    assert!(
        events
            .iter()
            .any(|event| matches!(event.body, EventBody::UserReject(_)))
    );
    let text = serde_json::to_string(&events).unwrap();
    assert!(text.contains("<secret-hidden>") && !text.contains("open-sesame"));
    let copy = conversation.fork().await.unwrap();
    let ids: Vec<_> = client
        .conversations()
        .await
        .unwrap()
        .iter()
        .map(|info| info.id)
        .collect();
    assert_eq!(ids, [copy.id(), id]);
    copy.delete().await.unwrap();
    assert_eq!(client.conversations().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_stream_goes_on_without_a_gap_when_the_server_comes_back() {
    let home = Home::new();
    let (served, client) = served(&home);
    let conversation = begin(&home, &client, FINISH).await;
    let mut frames = conversation.replay(None);
    let mut told = Vec::new();
    let mut until = async |what: &dyn Fn(&EventBody) -> bool| {
        let waiting = async {
            while let Some(frame) = frames.next().await {
                if let SessionFrame::Durable { seq, event } = frame.unwrap() {
                    told.push(seq);
                    if what(&event.body) {
                        return;
                    }
                }
            }
        };
        tokio::time::timeout(LIMIT, waiting)
            .await
            .expect("it is never told");
        told.clone()
    };
    conversation.send("first").await.unwrap();
    until(&|body| matches!(body, EventBody::Message(_))).await;
    let port = served.address().rsplit(':').next().unwrap().to_owned();
    assert_eq!(served.terminate(), Some(0));
    let _served = Served::start_at(&home, &port, &[("SESSION_API_KEY", KEY)]);
    conversation.send("second").await.unwrap();
    conversation.run().await.unwrap();
    let told = until(&|body| matches!(body, EventBody::Observation(_))).await;
    assert!(told.is_sorted_by(|one, next| one < next), "{told:?}");
    assert_eq!(told.first(), Some(&Seq::FIRST));
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let home = Home::new();
    let (served, client) = served(&home);
    let nobody = ConversationId(Uuid::new_v4());
    assert!(matches!(client.conversation(nobody).await, Err(ClientError::NotFound(id)) if id == nobody));
    let stranger = Client::new(&served.address(), &Secret::new("wrong".to_owned())).unwrap();
    assert!(matches!(
        stranger.conversations().await,
        Err(ClientError::Unauthorized)
    ));
    let new = NewConversation::new("demo", String::new());
    let refused = client.begin(&new).await.unwrap_err().to_string();
    assert!(
        refused.contains("422") && refused.contains("working_dir"),
        "{refused}"
    );
    drop(served);
    let gone = client.conversations().await.unwrap_err();
    assert!(matches!(gone, ClientError::Unreachable { .. }), "{gone}");
    assert!(Client::new("ftp://localhost", &Secret::new(String::new())).is_err());
}
