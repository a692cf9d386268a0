use serde_json::json;

use super::*;

#[test]
fn hooks_are_read_in_both_spellings_and_chosen_by_their_matchers() {
    let written = json!({"hooks": {
        "PreToolUse": [
            {"matcher": "terminal", "hooks": [{"type": "command", "command": "one", "timeout": 5}]},
            {"matcher": "file_.*|glob", "hooks": [{"command": "two", "async": true}]},
            {"hooks": [{"type": "prompt", "prompt": "three"}]},
        ],
        "stop": [{"matcher": "*", "hooks": [{"command": "four"}]}],
        "session_end": null,
    }});
    let config = HookConfig::parse(&written).unwrap();
    let texts = |event, tool| {
        let hooks = config.of(event, tool);
        hooks
            .iter()
            .map(|hook| hook.text().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(HookEvent::PreToolUse, Some("terminal")), ["one", "three"]);
    assert_eq!(
        texts(HookEvent::PreToolUse, Some("file_editor")),
        ["two", "three"]
    );
    assert_eq!(texts(HookEvent::PreToolUse, Some("my_glob")), ["three"]);
    assert_eq!(texts(HookEvent::Stop, None), ["four"]);
    assert!(texts(HookEvent::SessionEnd, None).is_empty() && !config.is_empty());
}

#[test]
fn what_cannot_run_is_refused_with_a_reason() {
    for (written, expected) in [
        (json!([]), "no object"),
        (json!({"Later": []}), "\"Later\""),
        (json!({"Stop": [], "stop": []}), "twice"),
        (json!({"Stop": [{"hooks": [{"type": "dance"}]}]}), "\"dance\""),
        (
            json!({"Stop": [{"hooks": [{"type": "agent"}]}]}),
            "no `system_prompt`",
        ),
        (
            json!({"Stop": [{"hooks": [{"type": "command"}]}]}),
            "no `command`",
        ),
        (json!({"Stop": [{"hooks": [{"command": " "}]}]}), "no `command`"),
        (
            json!({"Stop": [{"hooks": [{"type": "prompt", "prompt": ""}]}]}),
            "no `prompt`",
        ),
        (json!({"Stop": [{"matcher": "(", "hooks": []}]}), "no pattern"),
    ] {
        let error = HookConfig::parse(&written).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn only_a_blank_hook_of_a_file_is_left_out() {
    let written = json!({"PreToolUse": [
        {"hooks": [{"command": " "}, {"command": "guard"}, {"type": "prompt", "prompt": ""}]},
    ]});
    let hooks = HookConfig::parse_kept(&written)
        .unwrap()
        .of(HookEvent::PreToolUse, None);
    assert_eq!(hooks.iter().map(Hook::text).collect::<Vec<_>>(), ["guard"]);
    let nameless = json!({"Stop": [{"hooks": [{"type": "command"}]}]});
    assert!(HookConfig::parse_kept(&nameless).is_err());
}

#[test]
fn what_a_hook_says_is_found_in_prose() {
    let said = Said::read("I {think} so: {\"decision\": \"deny\", \"reason\": \"no\"} and that is it");
    assert_eq!((said.denies, said.reason.as_deref()), (true, Some("no")));
    assert!(Said::read("{\"continue\": false}").denies);
    assert_eq!(Said::read("all is well"), Said::default());
    let context = Said::read("{\"additionalContext\": \"read this\"}").context;
    assert_eq!(context.as_deref(), Some("read this"));
}
