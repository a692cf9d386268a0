use super::*;

/// A frame as a server makes it.
pub(in super::super) fn frame(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    for (name, value) in headers {
        packed.push(u8::try_from(name.len()).unwrap());
        packed.extend(name.as_bytes());
        packed.push(TEXT);
        packed.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        packed.extend(value.as_bytes());
    }
    seal(&packed, payload)
}

fn seal(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let length = |length: usize| u32::try_from(length).unwrap().to_be_bytes();
    let mut frame = Vec::new();
    frame.extend(length(PRELUDE + headers.len() + payload.len() + TAIL));
    frame.extend(length(headers.len()));
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame.extend(headers);
    frame.extend(payload);
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame
}

fn feed(parser: &mut FrameParser, bytes: &[u8]) -> Result<Vec<Frame>, BadFrame> {
    parser.feed(bytes).into_iter().collect()
}

fn all_of(bytes: &[u8]) -> Result<Vec<Frame>, BadFrame> {
    feed(&mut FrameParser::default(), bytes)
}

/// The empty frame and the one with a header of AWS's own test vectors.
#[test]
fn the_published_frames_are_read() {
    let empty = [
        0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff,
    ];
    let frames = all_of(&empty).unwrap();
    assert_eq!(
        frames,
        [Frame {
            headers: Vec::new(),
            payload: Vec::new()
        }]
    );
    let mut with_header = b"\x00\x00\x00\x3d\x00\x00\x00\x20\x07\xfd\x83\x96\x0ccontent-type\x07\x00\x10application/json{'foo':'bar'}".to_vec();
    with_header.extend([0x8d, 0x9c, 0x08, 0xb1]);
    let frames = all_of(&with_header).unwrap();
    assert_eq!(frames[0].header("content-type"), Some("application/json"));
    assert_eq!(frames[0].payload, b"{'foo':'bar'}");
}

#[test]
fn frames_cut_anywhere_are_the_same() {
    let mut stream = frame(&[(":event-type", "a")], b"{}");
    stream.extend(frame(&[(":event-type", "b"), ("x", "")], "grüß".as_bytes()));
    let whole = all_of(&stream).unwrap();
    assert_eq!(whole.len(), 2);
    for cut in 0..=stream.len() {
        let mut parser = FrameParser::default();
        let mut frames = feed(&mut parser, &stream[..cut]).unwrap();
        frames.extend(feed(&mut parser, &stream[cut..]).unwrap());
        assert_eq!(frames, whole, "{cut}");
    }
}

#[test]
fn any_changed_bit_is_noticed() {
    let good = frame(&[(":event-type", "a")], b"{\"text\":\"x\"}");
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(all_of(&bad).is_err(), "{bit}");
    }
}

#[test]
fn headers_of_every_type_are_passed_over() {
    let mut headers = Vec::new();
    for (kind, length) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (5, 8), (8, 8), (9, 16)] {
        headers.extend([1, b'n', kind]);
        headers.extend(vec![0xff; length]);
    }
    headers.extend([1, b'n', 6, 0, 2, 0xff, 0xff, 1, b't', TEXT, 0, 1, b'v']);
    let frames = all_of(&seal(&headers, b"")).unwrap();
    assert_eq!(frames[0].headers, [("t".to_owned(), "v".to_owned())]);

    for wrong in [&[1, b'n', 10][..], &[9, b'n'], &[1, b'n', TEXT, 0, 9, b'v']] {
        let error = all_of(&seal(wrong, b"")).unwrap_err();
        assert_eq!(error, BadFrame::Headers);
    }
}

#[test]
fn a_frame_of_absurd_length_is_refused_before_it_comes() {
    for length in [u32::MAX, 15, 0] {
        let mut prelude = length.to_be_bytes().to_vec();
        prelude.extend([0; 4]);
        prelude.extend(crc32fast::hash(&prelude).to_be_bytes());
        let error = all_of(&prelude).unwrap_err();
        assert_eq!(error, BadFrame::Length(length as usize));
    }
}
