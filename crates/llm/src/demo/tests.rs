use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use deft_types::{Message, Money, ToolCall};
use tokio::time::Instant;

use super::*;
use crate::{FinishReason, Reply, ToolSchema, complete};

const TASK: &str = "The test fails. Find out why and fix it.";

fn project() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("README.md", "Greets people.\n");
    write(
        "greet.sh",
        "# Greets somebody by name.\ngreet() {\n  echo \"Helo, $1!\"\n}\n",
    );
    write(
        "test.sh",
        "cd \"$(dirname \"$0\")\"\n. ./greet.sh\ngot=$(greet Ada)\nif [ \"$got\" = 'Hello, Ada!' ]; then echo ok; exit 0; fi\n\
         echo \"FAIL greet.sh:3: expected 'Hello, Ada!' but got '$got'\"\nexit 1\n",
    );
    directory
}

/// Does what a call asks for, as the real tools do.
fn run(call: &ToolCall, directory: &Path) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    let argument = |name: &str| arguments[name].as_str().unwrap().to_owned();
    match (call.name.as_str(), argument("command").as_str()) {
        ("terminal", command) => {
            let output = Command::new("bash")
                .arg("-c")
                .arg(command)
                .current_dir(directory)
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            format!(
                "{text}[The command completed with exit code {}.]",
                output.status.code().unwrap()
            )
        }
        ("file_editor", "view") => {
            let text = fs::read_to_string(argument("path")).unwrap();
            let numbered = text
                .lines()
                .enumerate()
                .map(|(index, line)| format!("{:6}\t{line}\n", index + 1));
            format!("Here is the file:\n{}", numbered.collect::<String>())
        }
        ("file_editor", "str_replace") => {
            let text = fs::read_to_string(argument("path")).unwrap();
            assert_eq!(text.matches(&argument("old_str")).count(), 1);
            fs::write(
                argument("path"),
                text.replace(&argument("old_str"), &argument("new_str")),
            )
            .unwrap();
            "The file has been edited.".to_owned()
        }
        other => panic!("{other:?}"),
    }
}

fn tool(name: &str) -> ToolSchema {
    ToolSchema {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({}),
    }
}

/// A conversation with the demo in a directory, until it finishes or only talks.
async fn converse(task: &str, directory: &Path) -> Vec<Reply> {
    let mut request = Request {
        messages: vec![
            Arc::new(Message::text(Role::System, "You mend tests.")),
            Arc::new(Message::text(Role::User, task)),
        ]
        .into(),
        tools: Arc::new(["terminal", "file_editor", "finish"].map(tool)),
        cache_key: None,
    };
    let mut replies = Vec::new();
    loop {
        let reply = complete(&DemoModel::new(), request.clone(), |_| ())
            .await
            .unwrap();
        replies.push(reply.clone());
        assert!(replies.len() < 10, "the demo goes in circles");
        let Some(call) = reply.tool_calls.first().filter(|call| call.name != "finish") else {
            return replies;
        };
        request.messages.push(Arc::new(Message {
            tool_calls: Some(reply.tool_calls.clone()),
            ..Message::text(Role::Assistant, reply.text.clone())
        }));
        request.messages.push(Arc::new(Message {
            tool_call_id: Some(call.id.clone()),
            ..Message::text(Role::Tool, run(call, directory))
        }));
    }
}

fn call_names(replies: &[Reply]) -> Vec<&str> {
    replies
        .iter()
        .flat_map(|reply| &reply.tool_calls)
        .map(|call| call.name.as_str())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn finds_the_bug_mends_it_proves_it_and_finishes_within_three_seconds() {
    let directory = project();
    let start = Instant::now();
    let replies = converse(TASK, directory.path()).await;
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());

    assert_eq!(
        call_names(&replies),
        [
            "terminal",
            "terminal",
            "file_editor",
            "file_editor",
            "terminal",
            "finish"
        ]
    );
    assert!(
        replies.last().unwrap().tool_calls[0]
            .arguments
            .contains("passes now")
    );
    let mended = fs::read_to_string(directory.path().join("greet.sh")).unwrap();
    assert!(mended.contains("echo \"Hello, $1!\""), "{mended}");
    for reply in &replies {
        assert!(reply.usage.prompt > Tokens::ZERO && reply.usage.completion > Tokens::ZERO);
        assert_eq!(reply.cost, Some(Money::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn a_project_that_is_right_already_is_left_alone() {
    let directory = project();
    let greet = "greet() { echo \"Hello, $1!\"; }\n";
    fs::write(directory.path().join("greet.sh"), greet).unwrap();
    let replies = converse(TASK, directory.path()).await;
    assert_eq!(call_names(&replies), ["terminal", "terminal", "finish"]);
    assert_eq!(
        fs::read_to_string(directory.path().join("greet.sh")).unwrap(),
        greet
    );
}

#[tokio::test(start_paused = true)]
async fn a_bug_it_does_not_understand_is_admitted() {
    let directory = project();
    fs::write(
        directory.path().join("greet.sh"),
        "w=He; greet() { echo \"${w}lo, $1!\"; }\n",
    )
    .unwrap();
    let replies = converse(TASK, directory.path()).await;
    // The wrong word stands nowhere in the file.
    assert_eq!(call_names(&replies), ["terminal", "terminal", "file_editor"]);
    assert!(replies.last().unwrap().text.contains("do not see"));
}

#[tokio::test(start_paused = true)]
async fn a_mend_that_does_not_help_is_admitted() {
    let directory = project();
    let greet = "# Says Helo.\ngreet() { printf 'He%s, %s!\\n' lo \"$1\"; }\n";
    fs::write(directory.path().join("greet.sh"), greet).unwrap();
    let replies = converse(TASK, directory.path()).await;
    let last = replies.last().unwrap();
    assert!(
        last.tool_calls.is_empty() && last.text.contains("did not help"),
        "{}",
        last.text
    );
}

#[tokio::test(start_paused = true)]
async fn another_project_is_looked_at_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("test.sh"), "touch was-run\n").unwrap();
    let replies = converse(TASK, directory.path()).await;
    assert_eq!(call_names(&replies), ["terminal"]);
    assert_eq!(replies.last().unwrap().text, POLITE);
    assert!(!directory.path().join("was-run").exists());
}

#[tokio::test(start_paused = true)]
async fn any_other_task_is_answered_in_one_message_with_how_to_get_a_model() {
    let replies = converse("Write a poem.", Path::new("/")).await;
    let [reply] = replies.as_slice() else {
        panic!("{replies:?}");
    };
    assert_eq!((reply.tool_calls.len(), reply.finish), (0, FinishReason::Stop));
    for setting in ["--model", "LLM_MODEL", "LLM_API_KEY", "LLM_BASE_URL"] {
        assert!(reply.text.contains(setting), "{setting}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_tools_it_only_talks() {
    let request = Request {
        messages: vec![Arc::new(Message::text(Role::User, TASK))].into(),
        ..Request::default()
    };
    let reply = complete(&DemoModel::new(), request, |_| ()).await.unwrap();
    assert_eq!(reply.text, POLITE);
}
