//! A conversation on a server: begin it, watch it, read the answer.
//!
//! Start a server with `deft serve`, then:
//! `cargo run --package deft-cli --example remote -- http://127.0.0.1:3000 KEY MODEL DIRECTORY`

use anyhow::Context as _;
use deft_client::{Client, NewConversation};
use deft_types::{EventBody, Secret, SessionFrame, Status};
use futures::StreamExt as _;

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout)]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, key, model, directory] = arguments.as_slice() else {
        anyhow::bail!("give the server's address, its key, a model and a directory");
    };
    for line in remote(address, key, model, directory).await? {
        println!("{line}");
    }
    Ok(())
}

/// The kinds of the events of a task, as they happen, and what the agent says at the end.
pub(crate) async fn remote(
    address: &str,
    key: &str,
    model: &str,
    directory: &str,
) -> anyhow::Result<Vec<String>> {
    let client = Client::new(address, &Secret::new(key.to_owned()))?;
    let conversation = client.begin(&NewConversation::new(model, directory)).await?;
    let mut frames = conversation.replay(None); // from the very beginning
    conversation.send("Say hello.").await?;
    conversation.run().await?;

    let mut lines = Vec::new();
    let mut status = Status::Idle;
    while !matches!(status, Status::Finished | Status::Error | Status::Stuck) {
        let SessionFrame::Durable { seq, event } = frames.next().await.context("the server stopped")?? else {
            continue; // a piece of a reply, or the state as a whole
        };
        lines.push(format!("{} {}", seq.0, event.body.kind()));
        if let EventBody::StateUpdate(update) = &event.body
            && update.key == "execution_status"
        {
            status = serde_json::from_value(update.value.clone())?;
        }
    }
    lines.push(conversation.answer().await?);
    Ok(lines)
}
