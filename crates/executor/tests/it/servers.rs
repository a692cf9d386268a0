//! MCP servers that an executor starts beside the files.

use std::path::Path;

use deft_executor::{Client, Outcome, Update};
use deft_types::{
    Action, MCPToolAction, McpApprovals, McpChange, McpServerState, McpServerStatus, Observation,
};
use futures::StreamExt;
use serde_json::{Value, json};

use super::Place;

/// The server that the tests of the MCP client misbehave with.
fn config(ways: &[&str]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/it/unruly.mjs");
    let mut args = vec![script.display().to_string()];
    args.extend(ways.iter().map(|way| (*way).to_owned()));
    json!({"mcpServers": {"wild": {"command": "node", "args": args}}})
}

async fn start(client: &Client, ways: &[&str], approvals: McpApprovals) -> McpServerStatus {
    client.start_mcp(config(ways), approvals).await.unwrap().remove(0)
}

async fn call(client: &Client, id: &str, tool: &str) -> String {
    let action = Action::from(MCPToolAction::default());
    match client.call(id.into(), tool.into(), action).await.end().await {
        Update::Ended(Outcome::Observed { observation }) => match *observation {
            Observation::MCPTool(observation) => deft_types::text_of(&observation.content),
            other => panic!("not an MCP tool's answer: {other:?}"),
        },
        Update::Ended(Outcome::Failed { message }) => message,
        other => panic!("no answer: {other:?}"),
    }
}

#[tokio::test]
async fn a_servers_tools_are_told_and_can_be_called() {
    let place = Place::new();
    let client = place.connect().await;
    let status = start(&client, &[], McpApprovals::new()).await;
    let McpServerState::Ready { tools } = status.state else {
        panic!("{status:?}")
    };
    assert!(tools.iter().any(|tool| tool.name() == "wild_say"), "{tools:?}");
    assert_eq!(call(&client, "1", "wild_say").await, "something");
    place.executor.close().await;
    let closed = client.start_mcp(config(&[]), McpApprovals::new()).await;
    assert!(closed.is_err(), "{closed:?}");
}

#[tokio::test]
async fn the_same_request_from_another_client_finds_the_same_servers() {
    let place = Place::new();
    let first = start(&place.connect().await, &["child"], McpApprovals::new()).await;
    let pids = place.file("pids");
    let other = place.connect().await;
    assert_eq!(start(&other, &["child"], McpApprovals::new()).await, first);
    assert_eq!(place.file("pids"), pids, "it must not be started again");
    assert_eq!(call(&other, "1", "wild_say").await, "something");
    place.executor.close().await;
}

#[tokio::test]
async fn a_tool_that_changes_is_found_but_does_not_run_until_it_is_approved() {
    let place = Place::new();
    let client = place.connect().await;
    let before = start(&client, &[], McpApprovals::new()).await;
    let mut news = client.mcp_changes();
    call(&client, "1", "wild_rug-pull").await;
    let changed = loop {
        let now = news.next().await.unwrap().remove(0);
        if now != before {
            break now;
        }
    };
    let expected = [McpChange::Altered("say".to_owned())];
    assert!(
        matches!(&changed.state, McpServerState::Changed { what, .. } if *what == expected),
        "{changed:?}"
    );
    assert!(
        call(&client, "2", "wild_say")
            .await
            .contains("has changed this tool")
    );
    let approved = McpApprovals::from([("wild".to_owned(), changed.pin.unwrap())]);
    let now = start(&client, &[], approved).await;
    assert!(matches!(now.state, McpServerState::Ready { .. }), "{now:?}");
    assert_eq!(call(&client, "3", "wild_say").await, "something");
    place.executor.close().await;
}

#[tokio::test]
async fn what_cannot_be_started_is_said_and_the_executor_goes_on() {
    let place = Place::new();
    let client = place.connect().await;
    let remote = json!({"far": {"url": "https://example.com/mcp"}});
    let refused = client.start_mcp(remote, McpApprovals::new()).await;
    assert!(refused.unwrap_err().contains("\"far\""));
    let missing = json!({"gone": {"command": "no-such-program-at-all"}});
    let status = client
        .start_mcp(missing, McpApprovals::new())
        .await
        .unwrap()
        .remove(0);
    assert!(
        matches!(status.state, McpServerState::Failed { .. }),
        "{status:?}"
    );
    assert!(call(&client, "1", "gone_x").await.contains("no tool named"));
    place.executor.close().await;
}
