use serde_json::{Value, json};

use super::*;
use crate::fuzz::{ROUNDS, Random};
use crate::prompted::form;

fn tools() -> Arc<[ToolSchema]> {
    let tool = |name: &str, properties: Value| ToolSchema {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object", "properties": properties }),
    };
    Arc::new([
        tool(
            "terminal",
            json!({ "command": { "type": "string" }, "timeout": { "type": "number" }, "reset": { "type": "boolean" } }),
        ),
        tool(
            "file_editor",
            json!({
                "view_range": { "type": "array", "items": { "type": "integer" } },
                "line": { "type": "integer" },
                "text": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                "options": { "type": ["object", "null"] },
            }),
        ),
        tool("think", json!({})),
    ])
}

fn parse(chunks: &[&str], ending: Ending) -> Vec<Piece> {
    parse_with(CallParser::new(tools()), chunks, ending)
}

fn parse_with(mut parser: CallParser, chunks: &[&str], ending: Ending) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for chunk in chunks {
        for piece in parser.feed(chunk) {
            add(&mut pieces, piece);
        }
    }
    for piece in parser.finish(ending) {
        add(&mut pieces, piece);
    }
    pieces
}

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

fn call(name: &str, arguments: &Value) -> Piece {
    Piece::Call {
        name: name.to_owned(),
        arguments: arguments.to_string(),
    }
}

/// A call that nobody can run.
fn unread(name: &str, raw: &str) -> Piece {
    Piece::Call {
        name: name.to_owned(),
        arguments: raw.to_owned(),
    }
}

fn ls() -> Piece {
    call("terminal", &json!({ "command": "ls" }))
}

/// Texts, how they end, and what is in them.
#[allow(clippy::too_many_lines)] // a table
fn cases() -> Vec<(&'static str, &'static str, Ending, Vec<Piece>)> {
    use Ending::{CutOff, Whole};
    vec![
        ("nothing", "", Whole, vec![]),
        (
            "words",
            "Hello, 1 < 2 <b>żółw</b>\n ",
            Whole,
            vec![text("Hello, 1 < 2 <b>żółw</b>\n ")],
        ),
        (
            "words and a call",
            "Let me look.\n\n<function=terminal>\n<parameter=command>ls</parameter>\n</function>\n",
            Whole,
            vec![text("Let me look."), ls()],
        ),
        (
            "several lines stay as they are, but for the breaks that set them off",
            "<function=terminal>\n<parameter=command>\n\n  a <b\n</function>\n\n</parameter>\n</function>",
            Whole,
            vec![call("terminal", &json!({ "command": "\n  a <b\n</function>\n" }))],
        ),
        (
            "types by the schema",
            "<function=file_editor><parameter=view_range>[1, 2]</parameter><parameter=line> 7 </parameter>\
             <parameter=text>7</parameter><parameter=options>{\"a\": true}</parameter></function>",
            Whole,
            vec![call(
                "file_editor",
                &json!({ "view_range": [1, 2], "line": 7, "text": "7", "options": { "a": true } }),
            )],
        ),
        (
            "what does not fit its type is left to the check",
            "<function=terminal><parameter=timeout>soon</parameter><parameter=reset>True</parameter></function>",
            Whole,
            vec![call("terminal", &json!({ "timeout": "soon", "reset": true }))],
        ),
        (
            "several calls",
            "<function=terminal><parameter=command>ls</parameter></function>\n<function=think>\n</function>",
            Whole,
            vec![ls(), call("think", &json!({}))],
        ),
        (
            "an imagined result is left out",
            "<function=terminal><parameter=command>ls</parameter></function>\nEXECUTION RESULT of [terminal]:\nfoo",
            Whole,
            vec![ls()],
        ),
        (
            "a wrapper",
            "Now.\n<tool_call>\n<function=terminal>\n<parameter=command>ls</parameter>\n</function>\n</tool_call>",
            Whole,
            vec![text("Now."), ls()],
        ),
        (
            "JSON in a wrapper, twice",
            "Now.\n<tool_call>\n{\"name\": \"terminal\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>\n<tool_call>{\"name\": \"think\"}</tool_call>",
            Whole,
            vec![text("Now."), ls(), call("think", &json!({}))],
        ),
        (
            "JSON that holds the closing tag",
            "<tool_call>{\"name\": \"terminal\", \"arguments\": {\"command\": \"echo '</tool_call>'\"}}</tool_call>",
            Whole,
            vec![call("terminal", &json!({ "command": "echo '</tool_call>'" }))],
        ),
        (
            "JSON whose closing tag is forgotten",
            "<tool_call>{\"name\": \"bash\", \"parameters\": {\"command\": \"ls\"}}",
            Whole,
            vec![ls()],
        ),
        (
            "JSON that was cut off",
            "<tool_call>{\"name\": \"terminal\", \"arguments\": {\"command\": \"rm -r",
            CutOff,
            vec![unread(
                "terminal",
                "{\"name\": \"terminal\", \"arguments\": {\"command\": \"rm -r",
            )],
        ),
        (
            "JSON alone, in a fence, after reasoning",
            "<think>hm</think>\n```json\n{\"name\": \"terminal\", \"arguments\": {\"command\": \"ls\"}}\n```",
            Whole,
            vec![Piece::Reasoning("hm".to_owned()), ls()],
        ),
        (
            "JSON alone that is the answer",
            "{\"name\": \"Ada\", \"age\": 36}",
            Whole,
            vec![text("{\"name\": \"Ada\", \"age\": 36}")],
        ),
        (
            "reasoning, and a call only within it",
            " <think>\nI could <function=think></function>.\n</think>Done.",
            Whole,
            vec![
                Piece::Reasoning("\nI could <function=think></function>.\n".to_owned()),
                text("Done."),
            ],
        ),
        (
            "the end of reasoning alone",
            "hm</think>\nDone.",
            Whole,
            vec![text("hm\nDone.")],
        ),
        (
            "no closing tag at the end",
            "<function=terminal>\n<parameter=command>ls</parameter>\n",
            Whole,
            vec![ls()],
        ),
        (
            "half a closing tag, as a stop word leaves it",
            "<function=terminal>\n<parameter=command>ls</parameter>\n</functi",
            Whole,
            vec![ls()],
        ),
        (
            "no closing tag before the next call",
            "<function=terminal><parameter=command>ls</parameter>\n<function=think></function>",
            Whole,
            vec![ls(), call("think", &json!({}))],
        ),
        (
            "an unclosed value in a closed call",
            "<function=terminal><parameter=command>ls</function>",
            Whole,
            vec![ls()],
        ),
        (
            "an equals sign instead of a bracket",
            "<function=terminal><parameter=command=ls</parameter></function>",
            Whole,
            vec![ls()],
        ),
        (
            "quoted names and a missing bracket",
            "<function=\"terminal\"\n<parameter=\"command\">ls</parameter></function>",
            Whole,
            vec![ls()],
        ),
        (
            "arguments as JSON",
            "<function=terminal>\n{\"command\": \"ls\"}\n</function>",
            Whole,
            vec![ls()],
        ),
        (
            "words between parameters are left out",
            "<function=terminal>I run < this: <parameter=command>ls</parameter> ok</function>",
            Whole,
            vec![ls()],
        ),
        (
            "a name from elsewhere",
            "<function=execute_bash><parameter=command>ls</parameter></function>",
            Whole,
            vec![ls()],
        ),
        (
            "an unknown tool is left to the check",
            "<function=fly><parameter=to>7</parameter></function>",
            Whole,
            vec![call("fly", &json!({ "to": "7" }))],
        ),
        (
            "stopped within a value",
            "Ok. <function=terminal><parameter=command>rm -rf /tmp/x",
            CutOff,
            vec![
                text("Ok."),
                unread("terminal", "<function=terminal><parameter=command>rm -rf /tmp/x"),
            ],
        ),
        (
            "stopped behind a value: more might have come",
            "<function=terminal><parameter=command>ls</parameter>\n",
            CutOff,
            vec![unread(
                "terminal",
                "<function=terminal><parameter=command>ls</parameter>\n",
            )],
        ),
        (
            "a value without an end",
            "<function=terminal><parameter=command>ls",
            Whole,
            vec![unread("terminal", "<function=terminal><parameter=command>ls")],
        ),
        (
            "a name without an end",
            "<function=termi",
            Whole,
            vec![unread("", "<function=termi")],
        ),
        (
            "no name, and words after it",
            "<function=></function> and so on",
            Whole,
            vec![unread("", "<function=></function>")],
        ),
        (
            "the beginning of a tag is words after all",
            "a <func",
            Whole,
            vec![text("a <func")],
        ),
        (
            "the beginning of reasoning too",
            " <thi",
            Whole,
            vec![text(" <thi")],
        ),
    ]
}

#[test]
fn calls_are_found_repaired_and_left_unread_where_they_cannot_be() {
    for (what, written, ending, expected) in cases() {
        assert_eq!(parse(&[written], ending), expected, "{what}");
    }
}

#[test]
fn cuts_anywhere_change_nothing() {
    for (what, written, ending, expected) in cases() {
        for (cut, _) in written.char_indices() {
            let (one, two) = written.split_at(cut);
            assert_eq!(parse(&[one, two], ending), expected, "{what}: cut at {cut}");
        }
        let letters: Vec<String> = written.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(parse(&letters, ending), expected, "{what}: letter by letter");
    }
}

#[test]
fn words_are_passed_on_before_a_call_is_whole() {
    let mut parser = CallParser::new(tools());
    assert_eq!(parser.feed("Let me "), [text("Let me")]);
    assert_eq!(parser.feed("look. <func"), [text(" look.")]);
    assert_eq!(parser.feed("tion=think>"), []);
    assert_eq!(parser.feed("</function>"), [call("think", &json!({}))]);
}

#[test]
fn what_is_written_after_a_call_is_counted() {
    let mut parser = CallParser::new(tools());
    parser.feed("Before. <function=think></function>");
    assert_eq!((parser.has_called(), parser.stray_bytes()), (true, 0));
    parser.feed(" and on");
    assert_eq!(parser.stray_bytes(), 7);
    parser.feed("<function=think></function>");
    assert_eq!(parser.stray_bytes(), 0);
}

#[test]
fn a_call_that_is_written_out_is_read_as_the_same() {
    for arguments in [
        json!({}),
        json!({ "command": "ls" }),
        json!({ "command": "", "timeout": 1.5, "reset": false }),
        json!({ "command": "\n" }),
        json!({ "command": "\n\na\r\n\n", "timeout": 3 }),
        json!({ "command": "a < b <parameter=x> </function> <function=y>" }),
    ] {
        let call_made = deft_types::ToolCall {
            id: "1".to_owned(),
            responses_item_id: None,
            name: "terminal".to_owned(),
            arguments: arguments.to_string(),
            origin: deft_types::ToolCallOrigin::Completion,
            extra: deft_types::Extra::new(),
        };
        let written = form::write(&call_made);
        assert_eq!(
            parse(&[&written], Ending::Whole),
            [call("terminal", &arguments)],
            "{written}"
        );
    }
}

#[test]
fn any_text_gives_the_same_pieces_however_it_is_cut() {
    let fragments = [
        "<function=",
        "terminal",
        ">",
        "\n",
        "<parameter=",
        "command",
        "=",
        "</parameter>",
        "</function>",
        "</func",
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "{\"a\": ",
        "```json",
        "{\"name\": \"terminal\", \"arguments\": {}}",
        "\"b c\"}",
        " ",
        "ż🐢",
        "<",
        "word",
    ];
    let spaces = " ".repeat(300);
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let text = random.text(&[&fragments[..], &[&spaces]].concat());
        let text = String::from_utf8_lossy(&text);
        let letters: Vec<&str> = text.split_inclusive(|_| random.below(4) == 0).collect();
        for ending in [Ending::Whole, Ending::CutOff] {
            for new in [CallParser::new, CallParser::of_offered] {
                assert_eq!(
                    parse_with(new(tools()), &letters, ending),
                    parse_with(new(tools()), &[&text], ending),
                    "seed {seed}: {text:?}"
                );
            }
        }
    }
}

#[test]
fn a_long_text_takes_time_in_proportion() {
    // Each of these would take minutes if a parser went over what it has seen again and again.
    for text in [
        "<",
        " ",
        "<function=",
        "<function=a><parameter=b>",
        "</parameter",
        "<think>",
        "<tool_call>",
        "<tool_call>{",
        "</tool_call>",
    ] {
        let mut parser = CallParser::new(tools());
        parser.feed("<function=x>");
        for _ in 0..100_000 {
            parser.feed(text);
        }
        parser.finish(Ending::Whole);
    }
}

#[test]
fn what_names_no_tool_that_was_offered_is_quoted() {
    for quoted in [
        "Qwen writes `<function=get_weather>` first.",
        "A template: <tool_call>{\"name\": \"get_weather\", \"arguments\": {}}</tool_call> it is.",
    ] {
        let pieces = parse_with(CallParser::of_offered(tools()), &[quoted], Ending::Whole);
        assert_eq!(pieces, [text(quoted)]);
    }
    let meant = "<function=terminal><parameter=command>ls</parameter></function>";
    assert_eq!(
        parse_with(CallParser::of_offered(tools()), &[meant], Ending::Whole),
        [ls()]
    );
}

#[test]
fn an_answer_in_json_is_shown_while_it_comes() {
    let mut parser = CallParser::new(tools());
    assert_eq!(parser.feed("{\"answer"), [text("{\"answer")]);
    assert_eq!(parser.feed("\": 1}"), [text("\": 1}")]);
}
