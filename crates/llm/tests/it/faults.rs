//! What a server, or what stands between, can do to an answer.

use super::*;

fn stream_head() -> Act {
    Act::Send(head("text/event-stream"))
}

fn said(text: &str) -> String {
    event(&json!({ "content": text }), None)
}

fn end() -> String {
    event(&json!({}), Some("stop"))
}

#[tokio::test]
async fn a_reset_in_the_middle_of_a_token_is_a_network_failure() {
    let half = &said("Hallo")[..60];
    let error = ask(vec![
        stream_head(),
        Act::Send(said("A ")),
        Act::Send(half.to_owned()),
        Act::Reset,
    ])
    .await
    .unwrap_err();
    assert!(matches!(error, ModelError::Network { .. }), "{error:?}");
}

#[tokio::test]
async fn a_half_closed_connection_is_the_end_of_the_answer() {
    let reply = ask(vec![
        stream_head(),
        Act::Send(said("Hi") + &end()),
        Act::HalfClose,
    ])
    .await
    .unwrap();
    assert_eq!(reply.text, "Hi");
    let error = ask(vec![stream_head(), Act::Send(said("Hal")), Act::HalfClose])
        .await
        .unwrap_err();
    assert!(matches!(error, ModelError::Network { .. }), "{error:?}");
}

#[tokio::test]
async fn a_slow_drip_is_not_silence() {
    let answer = said("ż") + &end() + "data: [DONE]\n\n";
    let pause = Duration::from_millis(15);
    let idle_timeout = Duration::from_secs(2);
    let acts = vec![stream_head(), Act::Drip(answer.clone(), pause)];
    assert!(
        pause * u32::try_from(answer.len()).unwrap() > idle_timeout,
        "longer in all"
    );
    let server = Server::start(acts).await;
    let settings = ModelSettings {
        idle_timeout,
        ..settings(server.base_url())
    };
    let model = open("openai/gpt-4o", &settings).unwrap();
    assert_eq!(complete(&*model, request(), |_| ()).await.unwrap().text, "ż");
}

#[tokio::test]
async fn an_event_of_50_megabytes_is_refused_and_not_kept() {
    let piece = vec![b'x'; 1024 * 1024];
    let mut acts = vec![stream_head(), Act::Send("data: ".to_owned())];
    acts.extend(std::iter::repeat_n(Act::SendBytes(piece), 50));
    let error = ask(acts).await.unwrap_err();
    assert!(matches!(error, ModelError::Protocol { .. }), "{error:?}");
    assert!(error.to_string().len() < 1_000, "{error}");
}

#[tokio::test]
async fn a_compressed_answer_is_refused_whole_or_cut() {
    // "data: [DONE]" as gzip writes it.
    let gzip = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x49, 0x2c, 0x49, 0xb4, 0x52, 0x88, 0x76, 0xf1, 0xf7, 0x73,
        0x8d, 0x05, 0,
    ];
    for length in [gzip.len(), 11] {
        let error = ask(vec![
            Act::Send("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n".to_owned()),
            Act::SendBytes(gzip[..length].to_vec()),
        ])
        .await
        .unwrap_err();
        assert!(matches!(error, ModelError::Protocol { .. }), "{error:?}");
        assert!(error.to_string().contains("gzip"), "{error}");
    }
}

#[tokio::test]
async fn events_out_of_order_or_of_an_unknown_kind_do_not_spoil_a_reply() {
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 5, "completion_tokens": 1 } });
    let reply = ask(vec![
        stream_head(),
        Act::Send(format!("data: {usage}\n\n")),
        Act::Send("event: to_come\nid: 7\nretry: 10\ndata: {\"kind\":\"new\"}\n\n".to_owned()),
        Act::Send(call(1, Some("b"), Some("terminal"), "{}")),
        Act::Send(end()),
        Act::Send(call(0, Some("a"), Some("terminal"), "{}")),
        Act::Send(said("late") + "data: [DONE]\n\n" + &said("too late")),
    ])
    .await
    .unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("late", FinishReason::ToolCalls)
    );
    assert_eq!(reply.tool_calls.len(), 2);
    assert_eq!(reply.usage.prompt, Tokens(5));

    let anthropic = [
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Hi" } }),
        json!({ "type": "content_block_stop", "index": 9 }),
        json!({ "type": "to_come" }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
        json!({ "type": "message_start", "message": { "id": "m" } }),
        json!({ "type": "message_stop" }),
    ];
    let mut acts = vec![stream_head()];
    acts.extend(anthropic.map(|event| Act::Send(format!("data: {event}\n\n"))));
    let server = Server::start(acts).await;
    let model = open("anthropic/claude-sonnet-4-5", &settings(server.base_url())).unwrap();
    assert_eq!(complete(&*model, request(), |_| ()).await.unwrap().text, "Hi");
}
