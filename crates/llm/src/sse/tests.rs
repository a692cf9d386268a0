use super::*;
use crate::fuzz::{ROUNDS, Random};

/// All events of a stream, the unfinished last one included.
fn events(pieces: &[&[u8]]) -> Vec<String> {
    let mut parser = SseParser::default();
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(parser.feed(piece).unwrap());
    }
    events.extend(parser.finish());
    events
}

#[test]
fn reads_every_form_of_the_framing() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("line feeds", "data: a\n\ndata: b\n\n", &["a", "b"]),
        (
            "carriage returns with line feeds",
            "data: a\r\n\r\ndata: b\r\n\r\n",
            &["a", "b"],
        ),
        ("carriage returns alone", "data: a\r\rdata: b\r\r", &["a", "b"]),
        ("several data lines", "data: a\ndata: b\n\n", &["a\nb"]),
        (
            "an empty data line within",
            "data: a\ndata\ndata: b\n\n",
            &["a\n\nb"],
        ),
        ("an empty event", "data:\n\n", &[""]),
        ("no space after the colon", "data:a\n\n", &["a"]),
        ("only one space is taken away", "data:  a\n\n", &[" a"]),
        ("a colon within the data", "data: a: b\n\n", &["a: b"]),
        ("comments", ": keep-alive\n\ndata: a\n: more\n\n", &["a"]),
        (
            "unknown and other fields",
            "event: x\nid: 7\nretry: 3\nfoo: bar\ndata: a\n\n",
            &["a"],
        ),
        (
            "a field that only begins like data",
            "database: x\ndata: a\n\n",
            &["a"],
        ),
        ("an event without data", "event: ping\n\ndata: a\n\n", &["a"]),
        ("a byte order mark", "\u{feff}data: a\n\n", &["a"]),
        ("no empty line at the end", "data: a\n\ndata: b\n", &["a", "b"]),
        ("no line ending at the end", "data: a\n\ndata: b", &["a", "b"]),
        ("many empty lines", "\n\n\ndata: a\n\n\n\n", &["a"]),
        ("nothing", "", &[]),
        ("letters beyond ASCII", "data: żółw 🐢\n\n", &["żółw 🐢"]),
    ];
    for (what, stream, expected) in cases {
        assert_eq!(&events(&[stream.as_bytes()]), expected, "{what}");
    }
}

#[test]
fn cuts_at_any_bytes_change_nothing() {
    let sample = "\u{feff}: hi\r\ndata: {\"text\":\"żółw 🐢\"}\r\n\r\ndata: a\rdata: b\r\rid: 1\ndata: c\n\ndata: [DONE]";
    let bytes = sample.as_bytes();
    let whole = events(&[bytes]);
    assert_eq!(whole, ["{\"text\":\"żółw 🐢\"}", "a\nb", "c", "[DONE]"]);
    for first in 0..=bytes.len() {
        for second in first..=bytes.len() {
            let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
            assert_eq!(events(&pieces), whole, "cut at {first} and {second}");
        }
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(events(&single), whole, "byte by byte");
}

#[test]
fn bytes_that_are_not_utf8_do_not_stop_the_stream() {
    assert_eq!(events(&[b"data: a\xFFb\n\n"]), ["a\u{fffd}b"]);
}

#[test]
fn an_endless_event_is_refused() {
    let mut parser = SseParser::default();
    let line = [b"data: ".as_slice(), &vec![b'x'; MAX_EVENT_BYTES / 2], b"\n"].concat();
    assert_eq!(parser.feed(&line), Ok(vec![]));
    assert_eq!(parser.feed(&line), Err(EventTooLong));

    let mut parser = SseParser::default();
    assert_eq!(parser.feed(&vec![b'x'; MAX_EVENT_BYTES]), Ok(vec![]));
    assert_eq!(parser.feed(b"x"), Err(EventTooLong));
}

#[test]
fn any_bytes_give_the_same_events_however_they_are_cut() {
    let fragments = [
        "data: ", "data:", "\n", "\r", "\r\n", "\n\n", ": c", "x", "ż🐢", "event: e", "\u{feff}", "data",
    ];
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let bytes = random.text(&fragments);
        let pieces = random.cut(&bytes);
        assert_eq!(
            events(&pieces),
            events(&[&bytes]),
            "seed {seed}: {:?}",
            bytes.escape_ascii().to_string()
        );
    }
}
