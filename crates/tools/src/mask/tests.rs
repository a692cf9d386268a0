use super::*;
use crate::fuzz::{ROUNDS, Random};
use serde_json::json;

const TOKEN: &str = "p@ss/w+rd \"x\"\n7";

fn streamed(mask: &Mask, pieces: &[&[u8]]) -> String {
    let (mut stream, mut seen) = (MaskedStream::default(), Vec::new());
    for piece in pieces {
        stream.push(mask, piece, |bytes| seen.extend_from_slice(bytes));
    }
    stream.end(mask, |bytes| seen.extend_from_slice(bytes));
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn a_value_is_hidden_in_every_form() {
    let mask = Mask::of([TOKEN].into_iter());
    let base64 = |text: String| STANDARD.encode(text);
    for (name, text) in [
        ("plain", TOKEN.to_owned()),
        ("JSON", r#"p@ss/w+rd \"x\"\n7"#.to_owned()),
        ("JSON with escaped slashes", r#"p@ss\/w+rd \"x\"\n7"#.to_owned()),
        ("URL", "p%40ss%2Fw%2Brd%20%22x%22%0A7".to_owned()),
        ("URL in small letters", "p%40ss%2fw%2brd%20%22x%22%0a7".to_owned()),
        ("form", "p%40ss%2Fw%2Brd+%22x%22%0A7".to_owned()),
        ("hex", "704073732f772b7264202278220a37".to_owned()),
        ("HEX", "704073732F772B7264202278220A37".to_owned()),
        ("base64", base64(TOKEN.to_owned())),
        ("URL-safe base64", URL_SAFE.encode(TOKEN)),
    ] {
        assert_eq!(mask.hide(&format!("<{text}>")), format!("<{HIDDEN}>"), "{name}");
    }
    for before in ["", "u", "me", "you", "user:"] {
        let text = base64(format!("{before}{TOKEN}\n"));
        let shown = mask.hide(&text);
        assert!(
            shown.contains(HIDDEN) && shown.len() < before.len() * 2 + HIDDEN.len() + 8,
            "{shown}"
        );
    }
}

#[test]
fn a_long_value_is_hidden_in_lines_and_a_key_line_by_line() {
    let token: String = (0..90).map(|n: u8| char::from(b'0' + n % 60)).collect();
    let mask = Mask::of([token.as_str()].into_iter());
    let base64 = STANDARD.encode(format!("{token}\n"));
    let hex = written(&token, |byte, text| write!(text, "{byte:02x}"));
    for (text, width) in [(&base64, 64), (&base64, 76), (&hex, 60)] {
        let lines = text.as_bytes().chunks(width).map(String::from_utf8_lossy);
        let lines = lines.collect::<Vec<_>>().join("\n");
        let rest = mask.hide(&lines).replace(HIDDEN, "");
        assert!(rest.len() < 8, "{rest}");
    }
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
    let begin = "-----BEGIN PRIVATE KEY-----";
    let key = format!("{begin}\n{line}\n{}\n", line.to_lowercase());
    let in_json = json!({"type": "service_account", "key": key}).to_string();
    for value in [key, in_json] {
        let mask = Mask::of([value.as_str()].into_iter());
        let shown = mask
            .hide(&format!("{begin}\r\n  {line}\r\n\"service_account\""))
            .into_owned();
        assert_eq!(shown, format!("{begin}\r\n  {HIDDEN}\r\n\"service_account\""));
    }
}

#[test]
fn a_value_is_hidden_in_dumps_of_its_bytes() {
    let token = "p@ss/w+rd1234567890abc";
    let mask = Mask::of([token].into_iter());
    // As the programs show it behind nothing and behind `T=`.
    let dumps = [
        (
            "od -An -tx1",
            " 70 40 73 73 2f 77 2b 72 64 31 32 33 34 35 36 37\n 38 39 30 61 62 63 0a\n",
        ),
        (
            "od -An -tx1",
            " 54 3d 70 40 73 73 2f 77 2b 72 64 31 32 33 34 35\n 36 37 38 39 30 61 62 63 0a\n",
        ),
        (
            "od -An -x",
            " 4070 7373 772f 722b 3164 3332 3534 3736\n 3938 6130 6362 000a\n",
        ),
        (
            "openssl",
            "70:40:73:73:2F:77:2B:72:64:31:32:33:34:35:\n    36:37:38:39:30:61:62:63",
        ),
        (
            "xxd -c 7",
            "00000000: 543d 7040 7373 2f\n00000007: 772b 7264 3132 33\n0000000e: 3435 3637 3839 30\n",
        ),
        (
            "xxd",
            "00000000: 7040 7373 2f77 2b72 6431 3233 3435 3637  p@ss/w+rd1234567\n\
          00000010: 3839 3061 6263 0a                        890abc.\n",
        ),
        (
            "hexdump -C",
            "00000000  70 40 73 73 2f 77 2b 72  64 31 32 33 34 35 36 37  |p@ss/w+rd1234567|\n\
          00000010  38 39 30 61 62 63                                 |890abc|\n",
        ),
    ];
    for (program, dump) in dumps {
        let shown = mask.hide(dump).into_owned();
        let pieces: Vec<&[u8]> = dump.as_bytes().chunks(5).collect();
        assert_eq!(streamed(&mask, &pieces), shown, "{program}");
        for line in shown.lines() {
            let is_of_others = |part: &&str| {
                let is_place = part.len() == 8 && part.starts_with("000000");
                is_place || ["54", "3d", "543d", "0a", "000a"].contains(part)
            };
            let left = line.replace(HIDDEN, "");
            let left: String = left
                .split([' ', ':'])
                .filter(|part| !is_of_others(part))
                .collect();
            assert!(
                left.len() <= 6,
                "{program}: three bytes at most, not {left} of\n{shown}"
            );
        }
    }
}

#[test]
fn the_longest_value_wins_and_short_ones_and_hidden_ones_stay() {
    let mask = Mask::of(["abcd", "abcdefgh", "secret", "xyz"].into_iter());
    assert_eq!(
        mask.hide("1abcdefgh2abcd3 xyz"),
        "1<secret-hidden>2<secret-hidden>3 xyz"
    );
    let once = mask.hide("the secret").into_owned();
    assert_eq!(once, "the <secret-hidden>");
    assert_eq!(mask.hide(&once), once);
    assert!(Mask::of(["xyz"].into_iter()).is_empty());
}

#[test]
fn every_string_of_a_value_is_masked_but_pictures() {
    let mask = Mask::of(["hunter2"].into_iter());
    let mut value =
        json!({"a": ["x hunter2", {"b": "hunter2"}], "c": "data:image/png;base64,hunter2", "d": 1});
    mask.hide_in(&mut value);
    assert_eq!(
        value,
        json!({"a": [format!("x {HIDDEN}"), {"b": HIDDEN}], "c": "data:image/png;base64,hunter2", "d": 1})
    );
}

#[test]
fn names_are_masked_where_they_are_data() {
    let mask = Mask::of(["hunter2"].into_iter());
    let mut value = json!({"x": [{"the hunter2": "hunter2", "b": {"hunter2": 1}}]});
    let mut form = value.clone();
    mask.hide_in_data(&mut value);
    assert_eq!(
        value,
        json!({"x": [{format!("the {HIDDEN}"): HIDDEN, "b": {HIDDEN: 1}}]})
    );
    mask.hide_in(&mut form);
    assert_eq!(form["x"][0]["the hunter2"], HIDDEN);
}

#[test]
fn what_only_looks_like_a_picture_hides_nothing() {
    let mask = Mask::of(["hunter2", "a-long-password", "aLongPassword"].into_iter());
    for text in [
        "data:text/plain;base64,hunter2",
        "data: hunter2 ;base64,",
        "data:image/png;base64,AA hunter2",
        "data:image/png;base64,aLongPassword",
        "data:image/hunter2;base64,AA",
    ] {
        let mut value = json!(text);
        mask.hide_in(&mut value);
        assert!(value.as_str().unwrap().contains(HIDDEN), "{text}");
    }
}

#[test]
fn nothing_is_held_back_that_cannot_become_a_secret() {
    let mask = Mask::of(["hunter2"].into_iter());
    let (mut stream, mut seen) = (MaskedStream::default(), String::new());
    let mut push = |text: &str| {
        stream.push(&mask, text.as_bytes(), |bytes| {
            seen.push_str(std::str::from_utf8(bytes).unwrap());
        });
        seen.clone()
    };
    assert_eq!(push("Password: "), "Password: ");
    assert_eq!(push("hunt"), "Password: ");
    assert_eq!(push("ing"), "Password: hunting");
    assert_eq!(push("hunter"), "Password: hunting");
    assert_eq!(push("2!"), format!("Password: hunting{HIDDEN}!"));
}

#[test]
fn a_stream_is_masked_as_its_whole_text_however_it_is_cut() {
    let mask = Mask::of(["abab", "abcabc", "bcab", "caba ab"].into_iter());
    let mut random = Random::new(2);
    for round in 0..ROUNDS {
        let text = random.text(&["ab", "c", "a", "b", " ", "abcab", "ä"]);
        let text = String::from_utf8_lossy(&text).into_owned();
        let pieces = random.cut(text.as_bytes());
        assert_eq!(
            streamed(&mask, &pieces),
            mask.hide(&text),
            "round {round}: {pieces:?}"
        );
    }
}
