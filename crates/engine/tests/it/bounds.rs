//! What the engine holds is bounded, and it holds nothing of the workspace.

use std::sync::Arc;

use deft_engine::Conversation;
use deft_llm::{Delta, FinishReason, Model, ModelError, ModelProfile, Request};
use deft_types::Status;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::sync::broadcast::error::TryRecvError;

use crate::desk::{Desk, assert_paired};

/// Answers in very many pieces.
struct Talker(ModelProfile);

const PIECES: usize = 20_000;

impl Model for Talker {
    fn profile(&self) -> &ModelProfile {
        &self.0
    }

    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let pieces = std::iter::repeat_n(Delta::Text("word ".to_owned()), PIECES);
        let end = std::iter::once(Delta::Finished(FinishReason::Stop));
        stream::iter(pieces.chain(end).map(Ok)).boxed()
    }
}

#[tokio::test]
async fn invariant_8_a_watcher_that_does_not_read_costs_a_bounded_number_of_pieces() {
    let desk = Desk::new("[]").await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.model = Arc::new(Talker(ModelProfile::unknown("talker")));
    let conversation = Conversation::open(parts).await.unwrap();
    let mut live = conversation.live();
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let left_out = match live.try_recv() {
        Err(TryRecvError::Lagged(left_out)) => usize::try_from(left_out).unwrap(),
        other => panic!("all {PIECES} pieces were kept: {other:?}"),
    };
    let mut kept = 0;
    while live.try_recv().is_ok() {
        kept += 1;
    }
    assert!(kept <= 1024, "{kept} pieces were kept");
    assert!(kept + left_out >= PIECES);
    let answer = conversation.inspect().await.unwrap().answer.unwrap();
    assert_eq!(answer.len(), 5 * PIECES, "what is stored is whole");
}

#[tokio::test]
async fn invariant_6_the_engine_works_where_the_workspace_is_out_of_its_reach() {
    let script = r#"
- tool_calls:
  - {name: terminal, arguments: {command: "echo one > out"}}
  - {name: grep, arguments: {pattern: one}}
- tool_calls: [{name: finish, arguments: {message: done}}]
"#;
    let desk = Desk::new(script).await;
    let mut parts = desk.parts(Desk::limits()).await;
    // As it is with a container or another machine: the path means nothing here.
    parts.directory = "/nowhere/on/this/machine".to_owned();
    parts.outfit.checkpoints = true;
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("out"), "one\n");
    assert_paired(&desk.events().await);
}
