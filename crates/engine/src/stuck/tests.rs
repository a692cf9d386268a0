use deft_types::ToolCall;
use serde_json::json;

use super::*;

/// Plays calls with their results.
fn played(steps: &[(&str, &str)]) -> Recent {
    let mut recent = Recent::default();
    for (n, (command, result)) in steps.iter().enumerate() {
        step(&mut recent, n, command, result);
    }
    recent
}

fn step(recent: &mut Recent, n: usize, command: &str, result: &str) {
    step_of(recent, &format!("r{n}"), n, command, result);
}

fn step_of(recent: &mut Recent, reply: &str, n: usize, command: &str, result: &str) {
    let seen = json!({"kind": "ThinkObservation", "content": [{"type": "text", "text": result}]});
    step_seen(recent, reply, n, command, &seen);
}

fn step_seen(recent: &mut Recent, reply: &str, n: usize, command: &str, seen: &Value) {
    call(recent, reply, n, command);
    let body = json!({
        "kind": "ObservationEvent", "tool_name": "terminal", "tool_call_id": format!("c{n}"), "action_id": format!("a{n}"),
        "observation": seen,
    });
    recent.result(&serde_json::from_value(body).unwrap());
}

fn call(recent: &mut Recent, reply: &str, n: usize, command: &str) {
    let id = EventId(format!("a{n}"));
    let arguments = json!({"command": command, "summary": format!("try {n}")}).to_string();
    let call =
        json!({"id": format!("c{n}"), "name": "terminal", "arguments": arguments, "origin": "completion"});
    let call: ToolCall = serde_json::from_value(call).unwrap();
    let action: ActionEvent = serde_json::from_value(json!({
        "thought": [{"type": "text", "text": format!("let me see, {n}")}], "tool_name": "terminal",
        "tool_call_id": call.id, "tool_call": call, "llm_response_id": reply, "security_risk": "LOW",
    }))
    .unwrap();
    recent.call(&id, &action, Some(&EventId(format!("before a{n}"))));
}

/// Whether it is a circle once the agent has been told.
fn is_closed(mut recent: Recent) -> bool {
    assert!(
        matches!(recent.circle(), Some(Circle::Begins(_))),
        "it is told first"
    );
    recent.tell();
    matches!(recent.circle(), Some(Circle::Closed(_)))
}

#[test]
fn a_repetition_is_told_once_and_then_it_is_a_circle_whatever_the_agent_says_about_it() {
    let mut recent = played(&[("ls", "a"), ("ls", "a")]);
    assert_eq!(recent.circle(), None);
    step(&mut recent, 2, "ls", "a");
    assert!(matches!(recent.circle(), Some(Circle::Begins(text)) if text.contains("3 times")));
    recent.tell();
    assert_eq!(recent.circle(), None);
    step(&mut recent, 3, "ls", "a");
    assert!(matches!(recent.circle(), Some(Circle::Closed(_))));
    assert_eq!(recent.before_circle().unwrap().0, "before a0");
}

#[test]
fn words_about_something_else_are_no_warning_of_a_circle() {
    let mut recent = played(&[("ls", "a"), ("ls", "a")]);
    recent.say_nothing();
    recent.tell(); // that its reply was empty
    step(&mut recent, 2, "ls", "a");
    assert!(matches!(recent.circle(), Some(Circle::Begins(_))));
}

#[test]
fn what_differs_by_accident_does_not_count() {
    let at = |second: u32| {
        format!(
            "started 12:00:{second:02} as pid {second} in 0.{second} s\n\
             sshd[{second}000]: thread 'main' ({second}) panicked at src/main.rs:3:5"
        )
    };
    let results: Vec<_> = (1..5).map(at).collect();
    let steps: Vec<_> = results.iter().map(|result| ("make", result.as_str())).collect();
    assert!(is_closed(played(&steps)));
    let progress = [
        ("make", "10 %"),
        ("make", "20 %"),
        ("make", "30 %"),
        ("make", "40 %"),
    ];
    assert_eq!(played(&progress).circle(), None);
}

#[test]
fn two_calls_that_take_turns_are_a_circle_too() {
    let turns = [("a", "1"), ("b", "2")].repeat(3);
    assert!(matches!(played(&turns[..5]).circle(), Some(Circle::Begins(_))));
    assert!(is_closed(played(&turns)));
}

#[test]
fn a_round_of_up_to_four_calls_that_changes_nothing_is_a_circle() {
    let calls = [
        ("edit", "done"),
        ("test", "bad"),
        ("undo", "done"),
        ("look", "same"),
    ];
    for length in [3, 4] {
        let rounds = calls[..length].repeat(ROUNDS);
        let told_at = rounds.len() - 1;
        assert_eq!(played(&rounds[..told_at - 1]).circle(), None);
        assert!(
            matches!(played(&rounds[..told_at]).circle(), Some(Circle::Begins(text)) if text.contains("test"))
        );
        let closed = played(&rounds);
        assert_eq!(closed.before_circle().unwrap().0, "before a0");
        assert!(is_closed(closed));
    }
    let mut progress = calls[..3].repeat(ROUNDS);
    progress[4].1 = "better";
    assert_eq!(played(&progress).circle(), None);
}

#[test]
fn talk_without_deeds_is_a_circle_and_a_deed_ends_it() {
    let mut recent = Recent::default();
    (0..4).for_each(|_| recent.say());
    assert!(matches!(recent.circle(), Some(Circle::Begins(text)) if text.contains("4 replies")));
    recent.tell();
    assert_eq!(recent.circle(), None);
    let mut deed = recent.clone();
    step(&mut deed, 0, "ls", "a");
    assert_eq!(deed.circle(), None);
    recent.say();
    assert!(matches!(recent.circle(), Some(Circle::Closed(_))));
}

#[test]
fn a_view_that_is_too_small_for_every_step_is_a_circle() {
    let mut recent = Recent::default();
    let words: Vec<_> = (0..11).map(|n| n.to_string()).collect();
    for (n, word) in words.iter().enumerate().take(10) {
        assert_eq!(recent.circle(), None);
        recent.make_room();
        step(&mut recent, n, word, word);
    }
    assert!(matches!(recent.circle(), Some(Circle::Closed(text)) if text.contains("Room")));
    assert_eq!(recent.before_circle(), None, "no call is to blame");
    step(&mut recent, 10, &words[10], "a step for which there was room");
    assert_eq!(recent.circle(), None);
}

#[test]
fn waiting_and_progress_are_no_circle() {
    let waited = |exit_code: Option<i64>, is_error: bool| {
        let mut recent = Recent::default();
        for n in 0..8 {
            let seen = json!({
                "kind": "TerminalObservation", "command": "", "exit_code": exit_code, "is_error": is_error,
                "content": [{"type": "text", "text": "..."}],
            });
            step_seen(&mut recent, &format!("r{n}"), n, "", &seen);
        }
        recent
    };
    assert_eq!(waited(Some(-1), false).circle(), None, "a command runs");
    assert!(is_closed(waited(Some(-1), true)));
    assert!(is_closed(waited(None, true)), "there is no command");
    let mut recent = played(&[("ls", "a"), ("ls", "a"), ("ls", "a")]);
    recent.tell();
    step(&mut recent, 3, "cat a", "text");
    assert_eq!(recent.circle(), None);
    recent.clear();
    assert_eq!(recent, Recent::default());
}

#[test]
fn room_made_before_each_reply_counts_although_a_server_gives_all_replies_one_id() {
    let mut recent = Recent::default();
    for n in 0..NO_ROOM {
        assert_eq!(recent.circle(), None);
        recent.make_room();
        step_of(&mut recent, "the only id", n, &n.to_string(), &n.to_string());
    }
    assert!(matches!(recent.circle(), Some(Circle::Closed(text)) if text.contains("Room")));
}

#[test]
fn a_call_that_is_refused_each_time_is_a_circle_like_one_that_fails() {
    let mut recent = Recent::default();
    for n in 0..SAME_FAILURE {
        assert!(!matches!(recent.circle(), Some(Circle::Closed(_))));
        call(&mut recent, &format!("r{n}"), n, "rm -rf .");
        let refusal = json!({
            "kind": "UserRejectObservation", "tool_name": "terminal", "tool_call_id": format!("c{n}"),
            "action_id": format!("a{n}"), "rejection_reason": "never", "rejection_source": "hook",
        });
        recent.result(&serde_json::from_value(refusal).unwrap());
    }
    recent.tell();
    assert!(matches!(recent.circle(), Some(Circle::Closed(text)) if text.contains("failed in the same way")));
}

#[test]
fn replies_without_a_word_are_a_circle_unless_the_user_broke_them_off() {
    let mut recent = Recent::default();
    recent.say_nothing();
    recent.say_nothing();
    let mut interrupted = recent.clone();
    assert_eq!(recent.circle(), None);
    recent.say_nothing();
    assert!(matches!(recent.circle(), Some(Circle::Closed(text)) if text.contains("empty")));
    interrupted.interrupt();
    interrupted.say_nothing();
    assert_eq!(interrupted.circle(), None);
}

#[test]
fn results_are_equal_but_for_times_ids_addresses_and_places_of_the_moment() {
    let alike = [
        ("2026-01-02T03:04:05.678 ok", "2026-11-12 13:14:15 ok"),
        ("took 1.2 s", "took 13 ms"),
        ("at 1794969632", "at 1794969712"),
        ("at 1794969632.513", "at 1794969712.1"),
        ("at 1794969632513875959", "at 1794969632517875959"),
        ("process 12 at 0xdeadBEEF", "process 4711 at 0x7ffe01"),
        (
            "job 0b1c2d3e-0000-4000-8000-0123456789ab",
            "job FFFFFFFF-1111-4222-9333-ABCDEFABCDEF",
        ),
        ("/tmp/a1b2/log", "/tmp/zz/log"),
        ("/var/tmp/x.1: no", "/var/tmp/y.22: no"),
        ("/private/var/folders/ab/T", "/private/var/folders/xy/T"),
        ("/dev/shm/sem.1", "/dev/shm/sem.2"),
        ("/run/user/1000/bus1", "/run/user/1001/bus2"),
        ("/proc/12/stat", "/proc/4711/stat"),
        (r"C:\Users\me\Temp\ab12\x", r"C:\Users\me\Temp\zz\x"),
        ("build/tmp.Xy12Zz/out", "build/tmp.Qq98Pp/out"),
        ("work/tmpab12cd34/out", "work/tmpzz99yy88/out"),
    ];
    for (one, other) in alike {
        assert_eq!(without_accidents(one), without_accidents(other), "{one}");
    }
    let different = [
        ("/home/me/a.rs:3", "/home/me/b.rs:3"),
        ("3 tests passed", "4 tests passed"),
        ("line 12", "line 13"),
        ("1000000001 bytes", "1000000002 bytes"),
        ("temperature.rs", "temperance.rs"),
        ("template one", "template two"),
    ];
    for (one, other) in different {
        assert_ne!(without_accidents(one), without_accidents(other), "{one}");
    }
}
