//! Hooks, with real commands in a real workspace.

use deft_engine::{Conversation, Extensions, HookConfig, QueueChange, Queued};
use deft_llm::Request;
use deft_types::{Event, EventBody, EventId, HookExecutionEvent, Message, Role, Source, Status, text_of};
use serde_json::{Value, json};

use crate::desk::{Desk, assert_paired, budget, say, settled};

async fn opened(desk: &Desk, hooks: Value) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.extensions = Extensions {
        hooks: HookConfig::parse(&hooks).unwrap(),
        ..Extensions::default()
    };
    Conversation::open(parts).await.unwrap()
}

fn command(text: &str) -> Value {
    json!([{"hooks": [{"command": text}]}])
}

fn executions(events: &[Event]) -> Vec<&HookExecutionEvent> {
    let hooks = events.iter().filter_map(|event| match &event.body {
        EventBody::HookExecution(hook) => Some(hook.as_ref()),
        _ => None,
    });
    hooks.collect()
}

/// The last request to the model, in words.
fn last_request(desk: &Desk) -> String {
    let requests = desk.model.requests.lock().unwrap();
    let messages = requests.last().unwrap().messages.iter();
    messages
        .map(|message| text_of(&message.content))
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn what_is_said_after_a_message_that_a_hook_refuses_is_answered() {
    let desk = Desk::new("[{text: done}]").await;
    let hooks = json!({"UserPromptSubmit": command("if grep -q forbidden; then exit 2; fi")});
    let conversation = opened(&desk, hooks).await;
    say(&conversation, "forbidden").await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(desk.model.asked(), 0, "nothing else was said");

    for text in ["forbidden as well", "allowed"] {
        say(&conversation, text).await;
    }
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert!(last_request(&desk).contains("allowed"));
    assert_eq!(
        conversation.inspect().await.unwrap().answer.as_deref(),
        Some("done")
    );
}

#[tokio::test]
async fn what_waits_behind_a_message_that_a_hook_refuses_is_said_and_answered() {
    let script = r#"
- tool_calls: [{name: terminal, arguments: {command: "echo begun > begun; until [ -e go ]; do sleep 0.01; done"}}]
- text: first done
- text: third done
"#;
    let desk = Desk::new(script).await;
    let hooks = json!({"UserPromptSubmit": command("if grep -q forbidden; then exit 2; fi")});
    let conversation = opened(&desk, hooks).await;
    say(&conversation, "first").await;
    conversation.run().await.unwrap();
    desk.wait_for_file("begun").await;
    for text in ["forbidden", "third"] {
        let queued = Queued {
            id: EventId(text.to_owned()),
            message: Message::text(Role::User, text),
        };
        conversation.change_queue(QueueChange::Add(queued)).await.unwrap();
    }
    std::fs::write(desk.executors.work.join("go"), "").unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let state = conversation.inspect().await.unwrap();
    assert_eq!(state.queue, []);
    assert_eq!(state.answer.as_deref(), Some("third done"));
}

#[tokio::test]
async fn a_call_that_a_hook_refuses_does_not_run_and_the_model_hears_why() {
    let script = r"
- tool_calls:
  - {name: terminal, arguments: {command: echo one > one}}
  - {name: terminal, arguments: {command: echo two > two}}
- text: done
";
    let desk = Desk::new(script).await;
    let hooks = json!({
        "PreToolUse": [
            {"matcher": "file_editor", "hooks": [{"command": "exit 2"}]},
            {"matcher": "terminal", "hooks": [{"command": "if grep -q one; then echo 'not one' >&2; exit 2; fi; exit 7"}]},
        ],
        "PostToolUse": command("cat > answered; echo $OPENHANDS_TOOL_NAME >> answered"),
    });
    let conversation = opened(&desk, hooks).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(
        (desk.file("one"), desk.file("two")),
        (String::new(), "two\n".to_owned())
    );
    assert!(
        desk.file("answered").contains(r#""event_type":"PostToolUse""#),
        "{}",
        desk.file("answered")
    );
    let answered = desk.file("answered");
    let (input, tool) = answered.split_at(answered.rfind('}').unwrap() + 1);
    assert_eq!(tool, "terminal\n");
    let input: Value = serde_json::from_str(input).unwrap();
    let mut names: Vec<_> = input.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    let every = [
        "event_type",
        "message",
        "metadata",
        "session_id",
        "tool_input",
        "tool_name",
        "tool_response",
        "working_dir",
    ];
    assert_eq!(names, every);
    assert_eq!(
        (&input["tool_response"]["exit_code"], &input["message"]),
        (&json!(0), &Value::Null)
    );
    assert!(last_request(&desk).contains("The call was not allowed: not one"));

    let events = desk.events().await;
    assert_paired(&events);
    let rejection = events.iter().find_map(|event| match &event.body {
        EventBody::UserReject(rejection) => Some(rejection.rejection_source.clone()),
        _ => None,
    });
    assert_eq!(rejection.as_deref(), Some("hook"));
    let told: Vec<_> = executions(&events)
        .iter()
        .map(|hook| {
            (
                hook.hook_event_type.as_str(),
                hook.blocked,
                hook.success,
                hook.exit_code,
            )
        })
        .collect();
    let expected = [
        ("PreToolUse", true, false, 2),
        ("PreToolUse", false, false, 7),
        ("PostToolUse", false, true, 0),
    ];
    assert_eq!(told, expected);
    assert!(events.iter().any(|event| event.source == Source::Hook));
    let heard = |hook: &HookExecutionEvent| hook.hook_input.clone().unwrap();
    let inputs: Vec<_> = executions(&events).into_iter().map(heard).collect();
    assert_eq!(inputs[0]["tool_input"]["command"], "echo one > one");
    assert_eq!(inputs[2]["tool_response"]["exit_code"], 0);
    assert_eq!(desk.rebuilt().await, conversation.inspect().await.unwrap());
}

#[tokio::test]
async fn hooks_add_to_what_the_user_says_or_end_the_run_before_the_model_is_asked() {
    let desk = Desk::new("[{text: hello}]").await;
    let answer = r#"if grep -q forbidden; then echo '{"decision": "deny", "reason": "no"}'; else echo '{"additionalContext": "be polite"}'; fi"#;
    let hooks = json!({
        "session_start": command(r#"echo '{"additionalContext": "welcome"}'"#),
        "UserPromptSubmit": command(answer),
    });
    let conversation = opened(&desk, hooks).await;
    desk.run(&conversation).await;
    let asked = last_request(&desk);
    assert!(
        asked.contains("welcome") && asked.contains("be polite"),
        "{asked}"
    );
    say(&conversation, "something forbidden").await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(desk.model.asked(), 1);
    let events = desk.events().await;
    let last = executions(&events);
    let last = last.last().unwrap();
    assert!(last.blocked && last.message_id.is_some() && last.reason.as_deref() == Some("no"));
}

#[tokio::test]
async fn a_hook_that_refuses_a_message_and_adds_to_it_has_refused_it() {
    let desk = Desk::new("[{text: hello}]").await;
    let answer = r#"echo '{"decision": "deny", "reason": "no", "additionalContext": "be polite"}'"#;
    let conversation = opened(&desk, json!({"UserPromptSubmit": command(answer)})).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(desk.model.asked(), 0);
    let events = desk.events().await;
    let said = executions(&events);
    assert!(said.len() == 1 && said[0].blocked, "{said:?}");
}

#[tokio::test]
async fn an_agent_that_wants_to_stop_goes_on_until_the_hooks_agree() {
    let desk = Desk::new("[{text: done}, {text: really done}]").await;
    let hooks = json!({
        "Stop": command("cat > stop; test -e asked && exit 0; touch asked; echo 'run the tests' >&2; exit 2"),
        "SessionEnd": command("echo ended > ended"),
    });
    let conversation = opened(&desk, hooks).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(desk.model.asked(), 2);
    assert!(last_request(&desk).contains("You are not done yet: run the tests"));
    assert!(
        desk.file("stop")
            .contains(r#""metadata":{"reason":"agent_finished"}"#)
    );
    conversation.close(deft_engine::ExecutorFate::Keep).await;
    assert_eq!(desk.file("ended"), "ended\n");
}

#[tokio::test]
async fn a_question_to_the_model_decides_and_is_counted() {
    // A question without history is answered with the first step, too.
    let script = r#"
- text: 'Certainly: {"decision": "deny", "reason": "too dangerous"}'
  tool_calls: [{name: terminal, arguments: {command: echo one > one}}]
- text: done
"#;
    let desk = Desk::new(script).await;
    let hooks =
        json!({"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "Refuse what writes files."}]}]});
    let conversation = opened(&desk, hooks).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("one"), "");
    let state = conversation.inspect().await.unwrap();
    assert!(
        format!("{:?}", state.stats).contains("prompt-hook:PreToolUse"),
        "{:?}",
        state.stats
    );
    assert_paired(&desk.events().await);
}

#[tokio::test]
async fn questions_to_the_model_end_where_the_budget_does_also_between_the_calls_of_one_reply() {
    // A question without history is answered with the first step, too, and costs as much.
    let script = r#"
- text: '{"decision": "allow"}'
  cost: 0.5
  tool_calls:
  - {name: terminal, arguments: {command: echo one > one}}
  - {name: terminal, arguments: {command: echo two > two}}
  - {name: terminal, arguments: {command: echo three > three}}
- text: done
"#;
    let desk = Desk::new(script).await;
    let hooks = json!({"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "Is it good?"}]}]});
    let mut parts = desk.parts(budget(1.2)).await;
    parts.extensions.hooks = HookConfig::parse(&hooks).unwrap();
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Error);
    assert_eq!(desk.model.asked(), 3, "the step and two of three questions");
}

#[tokio::test]
async fn an_agent_looks_around_before_it_decides_and_one_that_does_not_decide_holds_up_nobody() {
    // The agent of the hook has a history of its own, so its first and second replies are the first and second steps.
    let script = r#"
- tool_calls:
  - {name: list_directory, arguments: {dir_path: .}}
  - {name: terminal, arguments: {command: echo one > one}}
- text: 'I see: {"decision": "deny", "reason": "there is a rule against it"}'
"#;
    let desk = Desk::new(script).await;
    std::fs::write(desk.executors.work.join("RULES"), "write nothing").unwrap();
    let agent = |tools: Value, steps: u32| {
        let hook = json!({"type": "agent", "system_prompt": "Look for rules.", "tools": tools, "max_iterations": steps});
        json!({"PreToolUse": [{"matcher": "terminal", "hooks": [hook]}]})
    };
    let conversation = opened(&desk, agent(json!(["list_directory", "terminal"]), 3)).await;
    desk.run(&conversation).await;
    assert_eq!(desk.file("one"), "", "neither the agent nor its judge may write");
    let events = desk.events().await;
    assert_paired(&events);
    let hook = executions(&events)[0];
    assert!(hook.blocked && hook.success, "{hook:?}");
    assert_eq!(hook.reason.as_deref(), Some("there is a rule against it"));
    let is_judged = |request: &&Request| request.messages.len() == 5 && request.tools.len() == 1;
    let judged = desk
        .model
        .requests
        .lock()
        .unwrap()
        .iter()
        .find(is_judged)
        .cloned();
    let judged = judged.unwrap();
    let offered: Vec<_> = judged.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(offered, ["list_directory"]);
    assert!(text_of(&judged.messages[3].content).contains("RULES"));
    let stats = format!("{:?}", conversation.inspect().await.unwrap().stats);
    assert!(stats.contains("agent-hook:PreToolUse"), "{stats}");

    let desk = Desk::new(script).await;
    let conversation = opened(&desk, agent(json!([]), 1)).await;
    desk.run(&conversation).await;
    assert_eq!(desk.file("one"), "one\n");
    let events = desk.events().await;
    let hook = executions(&events)[0];
    assert!(!hook.blocked && !hook.success && hook.error.is_some(), "{hook:?}");
}

#[tokio::test]
async fn an_interrupt_ends_a_hook() {
    let desk =
        Desk::new("[{tool_calls: [{name: terminal, arguments: {command: echo one > one}}]}, {text: done}]")
            .await;
    let hooks = json!({"PreToolUse": command("echo $$ > pid; exec sleep 600")});
    let conversation = opened(&desk, hooks).await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    desk.wait_for_file("pid").await;
    conversation.interrupt().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Paused);
    let process = format!("/proc/{}", desk.file("pid").trim());
    while std::path::Path::new(&process).exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(desk.file("one"), "");
    assert_paired(&desk.events().await);
}

#[tokio::test]
async fn a_hook_can_refuse_a_call_and_add_to_what_the_model_reads_in_one_answer() {
    let script = "[{tool_calls: [{name: terminal, arguments: {command: echo one > one}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    let answer = json!({"decision": "deny", "reason": "not one", "additionalContext": "ask Ann first"});
    let hooks = json!({"PreToolUse": command(&format!("echo '{answer}'"))});
    let conversation = opened(&desk, hooks).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("one"), "");
    let request = last_request(&desk);
    assert!(
        request.contains("not one") && request.contains("ask Ann first"),
        "{request}"
    );
    assert_paired(&desk.events().await);
}

#[tokio::test]
async fn a_hook_that_nobody_waits_for_refuses_nothing_and_one_that_takes_too_long_holds_up_nobody() {
    let script = "[{tool_calls: [{name: terminal, arguments: {command: echo one > one}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    let hooks = json!({"PreToolUse": [{"hooks": [
        {"command": "sleep 600", "timeout": 0.2},
        {"command": "echo ran > beside; exit 2", "async": true},
    ]}]});
    let conversation = opened(&desk, hooks).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("one"), "one\n");
    desk.wait_for_file("beside").await;
    let events = desk.events().await;
    let told: Vec<_> = executions(&events)
        .iter()
        .map(|hook| hook.error.clone())
        .collect();
    assert_eq!(told, [Some("it took too long".to_owned()), None]);
}
