use std::collections::HashSet;

use deft_types::{ActionEvent, Event, EventBody, Message, MessageEvent, Source, Timestamp, ToolCall};
use serde_json::json;

use super::*;

fn event(id: &str, source: Source, body: impl Into<EventBody>) -> Event {
    Event {
        id: EventId(id.to_owned()),
        timestamp: Timestamp("2026-01-01T00:00:00".to_owned()),
        source,
        parent_id: None,
        body: body.into(),
    }
}

/// A prompt, a task, and steps with results of so many words.
fn view(steps: usize, words: usize) -> View {
    thoughtful_view(steps, words, |_| false)
}

/// The same with thoughts before some of the steps.
fn thoughtful_view(steps: usize, words: usize, thinks: impl Fn(usize) -> bool) -> View {
    let mut view = View::default();
    let prompt = json!({"system_prompt": {"type": "text", "text": "be good"}, "tools": [], "kind": "SystemPromptEvent"});
    let prompt = serde_json::from_value::<EventBody>(prompt).unwrap();
    view.apply(&event("prompt", Source::Agent, prompt), &HashSet::new());
    view.apply(
        &event(
            "task",
            Source::User,
            MessageEvent::new(Message::text(Role::User, "do it")),
        ),
        &HashSet::new(),
    );
    for step in 0..steps {
        let call: ToolCall = serde_json::from_value(
            json!({"id": format!("c{step}"), "name": "terminal", "arguments": "{}", "origin": "completion"}),
        )
        .unwrap();
        let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let thoughts = if thinks(step) { vec![thought] } else { Vec::new() };
        let action: ActionEvent = serde_json::from_value(json!({
            "thought": [], "thinking_blocks": thoughts, "tool_name": "terminal", "tool_call_id": call.id, "tool_call": call,
            "llm_response_id": format!("r{step}"), "security_risk": "LOW",
        }))
        .unwrap();
        view.apply(
            &event(&format!("a{step}"), Source::Agent, action),
            &HashSet::new(),
        );
        let result = json!({
            "kind": "ObservationEvent", "tool_name": "terminal", "tool_call_id": format!("c{step}"), "action_id": format!("a{step}"),
            "observation": {"kind": "ThinkObservation", "content": [{"type": "text", "text": "word ".repeat(words)}]},
        });
        view.apply(
            &event(
                &format!("o{step}"),
                Source::Environment,
                serde_json::from_value::<EventBody>(result).unwrap(),
            ),
            &HashSet::new(),
        );
    }
    view
}

fn ids(plan: Option<Plan>) -> Vec<String> {
    match plan {
        Some(Plan::Forget { events, .. }) => events.into_iter().map(|id| id.0).collect(),
        other => panic!("{other:?}"),
    }
}

const NO_PRESSURE: Pressure = Pressure {
    limit: None,
    forced: false,
};

#[test]
fn nothing_happens_while_there_is_room() {
    let view = view(10, 100);
    assert_eq!(Condenser::default().plan(&view, NO_PRESSURE), None);
    let room = Pressure {
        limit: Some(view.tokens()),
        forced: false,
    };
    assert_eq!(Condenser::default().plan(&view, room), None);
}

#[test]
fn long_results_are_masked_first_and_the_newest_stay() {
    let mut view = view(20, 1_000);
    let before = view.tokens();
    let pressure = Pressure {
        limit: Some(before - 1),
        forced: false,
    };
    let Some(Plan::Mask(mask)) = Condenser::default().plan(&view, pressure) else {
        panic!("no mask");
    };
    view.mask(&mask);
    assert!(view.tokens() < before / 2, "{} of {before}", view.tokens());
    let counted: u64 = view.entries().iter().map(|entry| entry.tokens).sum();
    assert_eq!(view.tokens(), counted);
    let last = view.entries().last().unwrap();
    assert!(last.tokens > 900, "the newest result stays");
    assert!(!last.is_masked && view.entries()[3].is_masked);
    assert_eq!(view.entries().len(), 42, "nothing is forgotten");
}

#[test]
fn a_summary_comes_when_there_is_nothing_to_mask_and_keeps_calls_with_their_results() {
    let mut view = view(40, 20);
    let pressure = Pressure {
        limit: Some(view.tokens() - 1),
        forced: false,
    };
    let plan = Condenser::default().plan(&view, pressure);
    let Some(Plan::Forget {
        ref events,
        offset,
        summarise: Some(Style::Sections),
    }) = plan
    else {
        panic!("{plan:?}");
    };
    assert_eq!((offset, events[0].0.as_str()), (2, "a0"));
    assert_eq!(events.len() % 2, 0, "a call never leaves without its result");
    let (events, before) = (events.clone(), view.tokens());
    let left_out = events.len();
    let condensation = deft_types::Condensation {
        forgotten_event_ids: events,
        summary: Some("what was".to_owned()),
        summary_offset: i64::try_from(offset).ok(),
        llm_response_id: String::new(),
        extra: deft_types::Extra::new(),
    };
    view.apply(&event("c", Source::Environment, condensation), &HashSet::new());
    assert!(view.tokens() <= before / 2 + 100);
    let counted: u64 = view.entries().iter().map(|entry| entry.tokens).sum();
    assert_eq!(view.tokens(), counted);
    let roles: Vec<_> = view
        .entries()
        .iter()
        .take(4)
        .map(|entry| entry.message.role)
        .collect();
    assert_eq!(roles, [Role::System, Role::User, Role::User, Role::Assistant]);
    assert!(view.entries()[2].message.plain_text().contains("what was"));
    assert_eq!(view.entries()[2].left_out, left_out);
    // The summary is summarised in its turn.
    let forced = Pressure {
        limit: None,
        forced: true,
    };
    let again = ids(Condenser::default().plan(&view, forced));
    assert_eq!(again[0], "c-summary");
    let forgotten = again.len();
    let condensation = deft_types::Condensation {
        forgotten_event_ids: again.into_iter().map(EventId).collect(),
        summary: None,
        summary_offset: None,
        llm_response_id: String::new(),
        extra: deft_types::Extra::new(),
    };
    view.apply(&event("d", Source::Environment, condensation), &HashSet::new());
    assert_eq!(
        view.entries()[2].left_out,
        left_out + forgotten - 1,
        "the summary is no message that was left out"
    );
}

#[test]
fn what_the_model_is_to_answer_is_never_forgotten() {
    let view = view(1, 10);
    let forced = Pressure {
        limit: None,
        forced: true,
    };
    assert_eq!(Condenser::Window.plan(&view, forced), None);
}

#[test]
fn the_others_forget_by_the_number_of_events() {
    let view = view(20, 10); // 42 events
    let recent = Condenser::RecentEvents {
        keep_first: 2,
        max_events: 12,
    };
    assert_eq!(
        ids(recent.plan(&view, NO_PRESSURE)).len(),
        34,
        "a quarter more than must"
    );
    let amortized = Condenser::Amortized {
        keep_first: 2,
        max_events: 40,
    };
    assert_eq!(ids(amortized.plan(&view, NO_PRESSURE)).len(), 20);
    let summary = Condenser::Summary(Summary {
        keep_first: 2,
        max_events: Some(40),
        max_tokens: None,
        structured: false,
    });
    assert_eq!(ids(summary.plan(&view, NO_PRESSURE)).len(), 24);
    let many = Condenser::Summary(Summary {
        keep_first: 2,
        max_events: Some(50),
        max_tokens: None,
        structured: false,
    });
    assert_eq!(many.plan(&view, NO_PRESSURE), None);
}

#[test]
fn a_summariser_sees_arguments_results_and_the_whole_of_an_earlier_summary() {
    let mut view = view(3, 3_000);
    let summary = "s".repeat(9_000);
    let condensation = deft_types::Condensation {
        forgotten_event_ids: vec![EventId("a0".to_owned()), EventId("o0".to_owned())],
        summary: Some(summary.clone()),
        summary_offset: Some(2),
        llm_response_id: String::new(),
        extra: deft_types::Extra::new(),
    };
    view.apply(&event("c", Source::Environment, condensation), &HashSet::new());
    let events = ["c-summary", "a1", "o1"]
        .map(|id| EventId(id.to_owned()))
        .to_vec();
    let draft = Draft {
        events: events.clone(),
        offset: 2,
        style: Style::Sections,
        most: 1_000,
    };
    let text = request(&view, &draft, 10_000).messages[1].plain_text();
    assert!(text.contains(&summary) && text.contains("[calls terminal: {}]") && text.contains("left out"));
    assert!(text.len() < 20_000);
    let stand_in = fallback(&view, &events, 5_000);
    assert!(
        stand_in.starts_with(&summary),
        "the earlier summary comes first, and whole"
    );
    assert!(stand_in.contains("You called terminal") && !stand_in.contains("The user said"));
    let short = fallback(&view, &events, 500);
    assert!(
        short.len() < 3_000 && short.contains("You called terminal"),
        "{short}"
    );
}

/// A view in which the model is still to read so many results of the last reply.
fn unread(results: usize, words: usize) -> View {
    let mut view = view(4, 10);
    let of = |n: usize| {
        let call =
            json!({"id": format!("n{n}"), "name": "terminal", "arguments": "{}", "origin": "completion"});
        let action = json!({
            "thought": [], "tool_name": "terminal", "tool_call_id": format!("n{n}"), "tool_call": call,
            "llm_response_id": "newest", "security_risk": "LOW",
        });
        serde_json::from_value::<ActionEvent>(action).unwrap()
    };
    for n in 0..results {
        view.apply(&event(&format!("an{n}"), Source::Agent, of(n)), &HashSet::new());
    }
    for n in 0..results {
        let result = json!({
            "kind": "ObservationEvent", "tool_name": "terminal", "tool_call_id": format!("n{n}"), "action_id": format!("an{n}"),
            "observation": {"kind": "ThinkObservation", "content": [{"type": "text", "text": format!("begin {}end", "word ".repeat(words))}]},
        });
        let result = serde_json::from_value::<EventBody>(result).unwrap();
        view.apply(
            &event(&format!("on{n}"), Source::Environment, result),
            &HashSet::new(),
        );
    }
    view
}

#[test]
fn what_the_model_has_not_read_yet_is_not_masked_however_long_it_is() {
    let view = unread(2, 10_000);
    let pressure = Pressure {
        limit: Some(view.tokens() / 2),
        forced: true,
    };
    assert_eq!(Condenser::MaskResults.plan(&view, pressure), None);
    let steered = event(
        "steered",
        Source::User,
        MessageEvent::new(Message::text(Role::User, "faster")),
    );
    let mut view = view;
    view.apply(&steered, &HashSet::new());
    assert_eq!(Condenser::MaskResults.plan(&view, pressure), None);
    let old = Condenser::default().plan(&view, pressure);
    assert!(
        matches!(&old, Some(Plan::Forget { events, .. }) if events.len() == 8),
        "{old:?}"
    );
}

#[test]
fn what_the_model_has_not_read_is_shortened_when_nothing_else_is_left() {
    let mut view = unread(2, 10_000);
    let before = view.tokens();
    let Some(Plan::Mask(mask)) = cut_newest(&view, None) else {
        panic!("nothing is cut");
    };
    view.mask(&mask);
    assert!(view.tokens() < before * 2 / 3, "{} of {before}", view.tokens());
    for result in view.entries().iter().rev().take(2) {
        let text = result.message.plain_text();
        assert!(
            text.starts_with("begin word") && text.ends_with("word end"),
            "{text}"
        );
    }
    assert_eq!(cut_newest(&unread(0, 0), None), None, "there is nothing to cut");
}

#[test]
fn a_text_that_is_held_to_so_many_tokens_has_no_more_whatever_it_is_made_of() {
    let count = |text: &str| deft_llm::message_tokens(&Message::text(Role::User, text)).0;
    for text in [
        "word ".repeat(9_000),
        "\u{4e2d}".repeat(9_000),
        "0x3f;".repeat(9_000),
    ] {
        for most in [64, 500, 5_000] {
            let held = held_to(&text, most);
            assert!(count(&held) <= most, "{} of {most}", count(&held));
            assert!(count(&held) * 2 > most, "{} of {most}", count(&held));
        }
        assert_eq!(held_to(&text, 1_000_000), text);
    }
}

#[test]
fn of_the_pages_of_a_browser_the_newest_stay_and_those_that_were_not_read() {
    let page = |view: &mut View, reply: &str, n: usize| {
        let call = json!({"id": format!("p{n}"), "name": "browser_navigate", "arguments": "{}", "origin": "completion"});
        let action = json!({
            "thought": [], "tool_name": "browser_navigate", "tool_call_id": format!("p{n}"), "tool_call": call,
            "llm_response_id": reply, "security_risk": "LOW",
        });
        let action = serde_json::from_value::<ActionEvent>(action).unwrap();
        view.apply(&event(&format!("ap{n}"), Source::Agent, action), &HashSet::new());
    };
    let shown = |view: &mut View, n: usize| {
        let result = json!({
            "kind": "ObservationEvent", "tool_name": "browser_navigate", "tool_call_id": format!("p{n}"), "action_id": format!("ap{n}"),
            "observation": {"kind": "ThinkObservation", "content": [{"type": "text", "text": format!("page {n} {}", "word ".repeat(500))}]},
        });
        let result = serde_json::from_value::<EventBody>(result).unwrap();
        view.apply(
            &event(&format!("op{n}"), Source::Environment, result),
            &HashSet::new(),
        );
    };
    let until = |plan: Option<Plan>| match plan {
        Some(Plan::Mask(mask)) => Some(mask.until.0),
        None => None,
        other => panic!("{other:?}"),
    };
    let condenser = Condenser::MaskBrowser { keep: 1 };
    let mut view = view(1, 1_000);
    for n in 0..2 {
        page(&mut view, &format!("reply {n}"), n);
        shown(&mut view, n);
    }
    let plan = condenser.plan(&view, NO_PRESSURE);
    assert_eq!(until(plan.clone()).as_deref(), Some("op0"));
    let Some(Plan::Mask(mask)) = plan else { panic!() };
    view.mask(&mask);
    let texts: Vec<_> = view
        .messages()
        .iter()
        .map(|message| message.plain_text())
        .collect();
    assert!(
        texts.iter().all(|text| !text.starts_with("page 0")),
        "the old page is gone"
    );
    assert!(texts.iter().any(|text| text.starts_with("page 1")) && texts[3].starts_with("word"));
    assert_eq!(until(condenser.plan(&view, NO_PRESSURE)), None);
    // Two at once: neither was read, so only what came before them goes.
    page(&mut view, "both", 2);
    page(&mut view, "both", 3);
    shown(&mut view, 2);
    shown(&mut view, 3);
    assert_eq!(until(condenser.plan(&view, NO_PRESSURE)).as_deref(), Some("op1"));
}

#[test]
fn what_a_model_did_by_one_thought_is_forgotten_together_unless_that_leaves_too_much() {
    let pressure = Pressure {
        limit: Some(2_000),
        forced: false,
    };
    let forgotten = |view: &View| match Condenser::Window.plan(view, pressure) {
        Some(Plan::Forget { events, .. }) => events,
        other => panic!("{other:?}"),
    };
    let has = |events: &[EventId], step: usize| events.contains(&EventId(format!("a{step}")));
    let in_fives = forgotten(&thoughtful_view(40, 60, |step| step % 5 == 0));
    for thought in 0..8 {
        let gone = (0..5).filter(|step| has(&in_fives, thought * 5 + step)).count();
        assert!(gone == 0 || gone == 5, "{gone} of the steps by thought {thought}");
    }
    assert!(has(&in_fives, 0) && !has(&in_fives, 39));

    // One thought for all of it: there must be room all the same.
    let all = forgotten(&thoughtful_view(40, 60, |step| step == 0));
    assert_eq!(all, forgotten(&view(40, 60)));
}
