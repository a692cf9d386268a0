#![allow(clippy::needless_pass_by_value)] // `json!` reads better at the call without `&`

use super::*;
use serde_json::{Value, json};

/// Prints events without colour.
fn shown(events: &[Value]) -> String {
    printed(events, Style::default())
}

fn printed(events: &[Value], style: Style) -> String {
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out, style);
    for event in events {
        printer
            .print(&serde_json::from_value(event.clone()).unwrap())
            .unwrap();
    }
    String::from_utf8(out).unwrap()
}

fn event(id: &str, source: &str, kind: &str, body: Value) -> Value {
    let mut event =
        json!({"id": id, "timestamp": "2026-11-15T01:14:49.000000", "source": source, "kind": kind});
    event
        .as_object_mut()
        .unwrap()
        .extend(body.as_object().unwrap().clone());
    event
}

fn message(source: &str, text: &str) -> Value {
    let role = if source == "user" { "user" } else { "assistant" };
    let content = [json!({"type": "text", "text": text})];
    event(
        "m",
        source,
        "MessageEvent",
        json!({"llm_message": {"role": role, "content": content}}),
    )
}

fn action_by(id: &str, tool: &str, thought: &str, action: Value) -> Value {
    let arguments = action.to_string();
    event(
        id,
        "agent",
        "ActionEvent",
        json!({
            "thought": [{"type": "text", "text": thought}],
            "action": action,
            "tool_name": tool,
            "tool_call_id": id,
            "tool_call": {"id": id, "name": tool, "arguments": arguments, "origin": "completion"},
            "llm_response_id": "r",
        }),
    )
}

fn command(id: &str, command: &str) -> Value {
    action_by(
        id,
        "terminal",
        "",
        json!({"kind": "TerminalAction", "command": command}),
    )
}

fn result(action: &str, observation: Value) -> Value {
    event(
        &format!("{action}-result"),
        "environment",
        "ObservationEvent",
        json!({"tool_name": "tool", "tool_call_id": action, "action_id": action, "observation": observation}),
    )
}

fn output(action: &str, command: &str, exit_code: i64, text: &str) -> Value {
    result(
        action,
        json!({
            "kind": "TerminalObservation",
            "command": command,
            "exit_code": exit_code,
            "content": [{"type": "text", "text": text}],
        }),
    )
}

fn edit(command: &str, old: Option<&str>, new: Option<&str>) -> Value {
    result(
        "e",
        json!({
            "kind": "FileEditorObservation",
            "command": command,
            "path": "src/lib.rs",
            "prev_exist": old.is_some(),
            "old_content": old,
            "new_content": new,
        }),
    )
}

#[test]
fn a_conversation_reads_as_a_dialogue() {
    let events = [
        message("user", "Make the tests pass\nplease"),
        action_by(
            "1",
            "terminal",
            "I look first.",
            json!({"kind": "TerminalAction", "command": "make test"}),
        ),
        output("1", "make test", 2, "one failed\n"),
        action_by("2", "think", "", json!({"kind": "ThinkAction", "thought": "Hm."})),
        result(
            "2",
            json!({"kind": "ThinkObservation", "content": [{"type": "text", "text": "noted"}]}),
        ),
        message("agent", "Shall I go on?"),
        action_by(
            "3",
            "finish",
            "",
            json!({"kind": "FinishAction", "message": "All pass."}),
        ),
        result(
            "3",
            json!({"kind": "FinishObservation", "content": [{"type": "text", "text": "All pass."}]}),
        ),
    ];
    assert_eq!(
        shown(&events),
        "
> Make the tests pass
> please

I look first.
$ make test
  one failed
exit code 2
Hm.

Shall I go on?

✔ Finished
All pass.
"
    );
}

#[test]
fn long_output_is_clipped_in_the_middle() {
    let text = (1..=30).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let shown = shown(&[command("1", "seq 30"), output("1", "seq 30", 0, &text)]);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 1 + 8 + 1 + 12);
    assert_eq!(lines[8..11], ["  8", "  … 10 more lines", "  19"]);
}

#[test]
fn results_of_parallel_commands_name_their_command() {
    let events = [
        command("1", "sleep 2; echo a"),
        command("2", "echo b"),
        output("2", "echo b", 0, "b"),
        output("1", "sleep 2; echo a", 0, "a"),
    ];
    assert_eq!(
        shown(&events),
        "$ sleep 2; echo a\n$ echo b\n  b\n$ sleep 2; echo a\n  a\n"
    );
}

#[test]
fn a_command_that_did_not_end_says_so() {
    let late = json!({"kind": "TerminalObservation", "command": "yes", "exit_code": -1, "timeout": true, "content": []});
    assert_eq!(
        shown(&[command("1", "yes"), result("1", late)]),
        "$ yes\nnot finished in the time it had; it may still be running\n"
    );
}

#[test]
fn input_reset_and_waiting_are_told_from_commands() {
    let terminal = |action| action_by("1", "terminal", "", action);
    assert_eq!(
        shown(&[
            terminal(json!({"kind": "TerminalAction", "command": "C-c", "is_input": true})),
            terminal(json!({"kind": "TerminalAction", "command": "", "reset": false})),
            terminal(json!({"kind": "TerminalAction", "command": "cd /\nls", "reset": true})),
        ]),
        "Type C-c\n(wait for more output)\n(a new shell)\n$ cd /\n  ls\n"
    );
}

#[test]
fn an_edit_is_shown_as_a_diff_with_counts() {
    let old = "one\ntwo\nthree\nfour\nfive\nsix\n";
    let new = "one\ntwo\nthree\n4\nfive\nsix\nseven";
    assert_eq!(
        shown(&[edit("str_replace", Some(old), Some(new))]),
        "Edited src/lib.rs +2 −1
@@ -1,6 +1,7 @@
 one
 two
 three
-four
+4
 five
 six
+seven
\\ no line break at the end of the file
"
    );
    let coloured = printed(
        &[edit("str_replace", Some("a\n"), Some("b\n"))],
        Style::coloured(),
    );
    assert!(
        coloured.contains("\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n"),
        "{coloured:?}"
    );
}

#[test]
fn every_tool_that_changes_files_shows_a_diff() {
    let diff = "Edited f +1 −1\n@@ -1 +1 @@\n-a\n+b\n";
    for (kind, path) in [
        ("FileEditorObservation", "path"),
        ("PlanningFileEditorObservation", "path"),
        ("EditObservation", "file_path"),
        ("WriteFileObservation", "file_path"),
    ] {
        let change = json!({
            "kind": kind, path: "f", "command": "str_replace", "old_content": "a\n", "new_content": "b\n",
        });
        assert_eq!(shown(&[result("e", change)]), diff, "{kind}");
    }
    let patch = json!({"kind": "ApplyPatchAction", "patch": "*** Begin Patch\n-a\n+b\n*** End Patch"});
    let done = json!({"kind": "ApplyPatchObservation", "content": [{"type": "text", "text": "Updated f"}]});
    assert_eq!(
        shown(&[action_by("e", "apply_patch", "", patch), result("e", done)]),
        "Apply a patch\n*** Begin Patch\n-a\n+b\n*** End Patch\n  Updated f\n"
    );
    assert_eq!(
        shown(&[edit("undo_edit", Some("a\n"), None)]),
        "Removed src/lib.rs\n"
    );
}

#[test]
fn a_new_file_shows_its_first_lines() {
    let content = (1..=15).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let shown = shown(&[edit("create", None, Some(&content))]);
    assert!(shown.starts_with("Created src/lib.rs +15\n+1\n+2\n"), "{shown}");
    assert!(shown.ends_with("+10\n… 5 more lines\n"), "{shown}");
}

#[test]
fn looking_at_a_file_takes_one_line_and_failing_to_shows_why() {
    let view = || {
        action_by(
            "e",
            "file_editor",
            "",
            json!({"kind": "FileEditorAction", "command": "view", "path": "/a b"}),
        )
    };
    assert_eq!(shown(&[view(), edit("view", None, None)]), "View /a b\n");

    let failed = json!({
        "kind": "FileEditorObservation", "command": "view", "is_error": true,
        "content": [{"type": "text", "text": "There is no /a b."}],
    });
    assert_eq!(
        shown(&[view(), result("e", failed)]),
        "View /a b\n  There is no /a b.\n"
    );
}

#[test]
fn a_task_list_is_shown_with_marks() {
    let tasks = json!([
        {"title": "Read", "status": "done"}, {"title": "Write", "status": "in_progress"}, {"title": "Test"},
    ]);
    let plan = json!({"kind": "TaskTrackerAction", "command": "plan", "task_list": tasks});
    assert_eq!(
        shown(&[action_by("1", "task_tracker", "", plan)]),
        "☑ Read\n▶ Write\n☐ Test\n"
    );
}

#[test]
fn a_tool_without_a_form_of_its_own_is_shown_as_its_call() {
    let call = action_by(
        "1",
        "fetch",
        "",
        json!({"kind": "MCPToolAction", "data": {"url": "https://x"}}),
    );
    let answer = json!({"kind": "MCPToolObservation", "tool_name": "fetch", "content": [{"type": "text", "text": "ok"}]});
    assert_eq!(
        shown(&[call, result("1", answer)]),
        "fetch {\"kind\":\"MCPToolAction\",\"data\":{\"url\":\"https://x\"}}\n  ok\n"
    );
}

#[test]
fn a_dangerous_action_is_marked() {
    let mut action = command("1", "sudo reboot");
    action["security_risk"] = json!("HIGH");
    assert_eq!(
        shown(&[action]),
        "This may do harm outside the workspace:\n$ sudo reboot\n"
    );
}

#[test]
fn errors_come_with_what_to_do() {
    let auth = json!({"code": "LLMAuthenticationError", "detail": "The key was refused.",
        "classification": {"kind": "auth", "retryable": false, "user_action": "settings"}});
    assert_eq!(
        shown(&[event("1", "environment", "ConversationErrorEvent", auth)]),
        "Error: The key was refused.\n\
         → Set LLM_API_KEY, or api_key in ~/.deft/deft.toml, to a key that is valid.\n"
    );
    let budget = json!({"code": "MaxBudgetReached", "detail": "The budget of $1.00 is spent.",
        "classification": {"kind": "quota", "retryable": false, "user_action": "settings"}});
    assert_eq!(
        shown(&[event("1", "environment", "ConversationErrorEvent", budget)]),
        "Stopped: The budget of $1.00 is spent.\n\
         → Go on with the conversation under a higher limit, such as --max-cost.\n"
    );
    let agents = json!({"tool_name": "terminal", "tool_call_id": "c", "error": "no such argument",
        "classification": {"kind": "agent_action", "retryable": true, "user_action": "retry"}});
    assert_eq!(
        shown(&[event("1", "agent", "AgentErrorEvent", agents)]),
        "terminal failed: no such argument\n"
    );
    let rejected = json!({"tool_name": "terminal", "tool_call_id": "c", "action_id": "1",
        "rejection_reason": "too risky", "rejection_source": "user"});
    assert_eq!(
        shown(&[event("1", "user", "UserRejectObservation", rejected)]),
        "Rejected by the user: too risky\n"
    );
    let hook = json!({"hook_event_type": "PreToolUse", "hook_command": "x", "success": false, "blocked": true,
        "exit_code": 2, "stderr": "not here\n"});
    assert_eq!(
        shown(&[event("1", "hook", "HookExecutionEvent", hook)]),
        "A PreToolUse hook said no: not here\n"
    );
}

#[test]
fn what_only_machines_need_is_not_shown() {
    let status = json!({"key": "execution_status", "value": "running"});
    assert_eq!(
        shown(&[event("1", "environment", "ConversationStateUpdateEvent", status)]),
        ""
    );
    assert_eq!(
        shown(&[event(
            "1",
            "agent",
            "StreamingDeltaEvent",
            json!({"content": "pie"})
        )]),
        ""
    );
}

#[test]
fn what_waits_says_why_and_what_does_not_is_not_explained() {
    let analysis = json!({"analyzer": "Judge", "policy": "ConfirmRisky", "risks": {"1": "HIGH", "2": "HIGH", "3": "LOW"},
        "details": {"1": "the judge failed: \u{1b}[2Jno key", "2": "the judge failed: \u{1b}[2Jno key", "3": "fine"}});
    let analysis = event("a", "environment", "SecurityAnalysisEvent", analysis);
    assert_eq!(shown(std::slice::from_ref(&analysis)), "");
    let status = json!({"key": "execution_status", "value": "waiting_for_confirmation"});
    let status = event("s", "environment", "ConversationStateUpdateEvent", status);
    assert_eq!(
        shown(&[analysis, status]),
        "Why it waits: the judge failed: no key\n"
    );
}

#[test]
fn a_server_that_fails_is_told_once_until_that_changes() {
    let told = |servers: Value| {
        let update = json!({"key": "mcp_servers", "value": servers});
        event("1", "environment", "ConversationStateUpdateEvent", update)
    };
    let server = |name: &str, state: Value| json!({"name": name, "state": state, "pin": null});
    let gone = server("gone", json!({"status": "failed", "reason": "no such program"}));
    let good = server("good", json!({"status": "ready", "tools": []}));
    assert_eq!(
        shown(&[told(json!([gone])), told(json!([gone, good]))]),
        "The MCP server gone is missing: no such program\n"
    );
}

#[test]
fn what_programs_asked_the_network_for_is_one_line_of_a_log() {
    let told = json!({"key": "egress", "value": {"until": 5, "requests": [
        {"host": "pypi.org", "port": 443, "outcome": "connected", "count": 3},
        {"host": "evil.example\u{1b}[2J", "port": 80, "outcome": "not_on_the_list", "count": 1}]}});
    let event = event("1", "environment", "ConversationStateUpdateEvent", told);
    let line = event_line(deft_types::Seq(7), &serde_json::from_value(event).unwrap());
    assert!(
        line.ends_with("network: pypi.org:443 connected ×3, evil.example:80 not on the list"),
        "{line}"
    );
}

#[test]
fn nothing_that_models_or_commands_say_controls_the_terminal() {
    let evil = "\x1b]0;owned\x07\x1b[2J\u{9b}31m\rok\x07";
    let evils = [
        message("user", evil),
        message("agent", evil),
        action_by(
            "1",
            evil,
            evil,
            json!({"kind": "TerminalAction", "command": evil}),
        ),
        action_by(
            "1",
            evil,
            evil,
            json!({"kind": "MCPToolAction", "data": {"x": evil}}),
        ),
        action_by("1", evil, evil, json!({"kind": "GrepAction", "pattern": evil})),
        action_by(
            "1",
            evil,
            evil,
            json!({"kind": "ApplyPatchAction", "patch": evil}),
        ),
        action_by("1", evil, evil, json!({"kind": "FinishAction", "message": evil})),
        action_by(
            "1",
            evil,
            evil,
            json!({"kind": "TaskTrackerAction", "command": "plan", "task_list": [{"title": evil}]}),
        ),
        output("9", evil, 1, evil),
        edit("create", None, Some(evil)),
        edit("str_replace", Some("a"), Some(evil)),
        result(
            "1",
            json!({"kind": "EditObservation", "file_path": evil, "old_content": "a", "new_content": "b"}),
        ),
        result("1", json!({"kind": "EditObservation", "file_path": evil})),
        result(
            "1",
            json!({"kind": evil, "is_error": true, "content": [{"type": "text", "text": evil}]}),
        ),
        event(
            "1",
            "agent",
            "AgentErrorEvent",
            json!({"tool_name": evil, "tool_call_id": "c", "error": evil}),
        ),
        event(
            "1",
            "agent",
            "ConversationErrorEvent",
            json!({"code": evil, "detail": evil}),
        ),
        event("1", "agent", evil, json!({})),
    ];
    for evil in evils {
        let shown = shown(std::slice::from_ref(&evil));
        assert_ne!(shown, "", "{evil}");
        let control = shown.chars().find(|char| char.is_control() && *char != '\n');
        assert_eq!(control, None, "{evil} → {shown:?}");
    }
}

#[test]
fn a_command_cannot_hide_a_part_of_itself() {
    assert_eq!(
        shown(&[command("1", "ls \x1b]0;\x07; rm -rf ~\r$ ls")]),
        "$ ls ␛]0;␇; rm -rf ~␍$ ls\n"
    );
}

#[test]
fn what_was_added_to_a_result_for_the_agent_is_shown_to_the_person_too() {
    let mut refused = output("1", "curl https://a.example", 56, "CONNECT tunnel failed");
    refused["extended_content"] =
        json!([{"type": "text", "text": "\n[The sandbox refused a.example:443: see sandbox_allow.]"}]);
    let shown = shown(&[command("1", "curl https://a.example"), refused]);
    assert!(
        shown.contains("  [The sandbox refused a.example:443: see sandbox_allow.]"),
        "{shown}"
    );
}
