use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deft_types::{ImageContent, Role};
use image::{DynamicImage, ImageFormat, ImageReader};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

fn image(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    DynamicImage::new_rgb8(width, height)
        .write_to(&mut bytes, format)
        .unwrap();
    bytes.into_inner()
}

fn inline(kind: &str, bytes: &[u8]) -> String {
    format!("data:image/{kind};base64,{}", STANDARD.encode(bytes))
}

fn png(width: u32, height: u32) -> String {
    inline("png", &image(width, height, ImageFormat::Png))
}

fn shown(urls: Vec<String>) -> Request {
    let body = ImageContent {
        image_urls: urls,
        ..ImageContent::default()
    };
    let message = Message::new(Role::User, vec![Content::text("See:"), Content::Image(body)]);
    Request {
        messages: vec![Arc::new(message)].into(),
        ..Request::default()
    }
}

fn urls(request: &Request) -> Vec<String> {
    let content = request.messages.iter().flat_map(|message| &message.content);
    let urls = content.flat_map(|part| match part {
        Content::Text(_) => &[][..],
        Content::Image(body) => &body.image_urls,
    });
    urls.cloned().collect()
}

/// Kind, width and height of an image in a `data:` address.
fn measure(url: &str) -> (String, u32, u32) {
    let (head, encoded) = url.split_once(";base64,").unwrap();
    let bytes = STANDARD.decode(encoded).unwrap();
    let reader = ImageReader::new(std::io::Cursor::new(bytes))
        .with_guessed_format()
        .unwrap();
    let kind = head.strip_prefix("data:image/").unwrap().to_owned();
    assert!(
        reader.format().unwrap().extensions_str().contains(&kind.as_str()),
        "{kind}"
    );
    let (width, height) = reader.into_dimensions().unwrap();
    (kind, width, height)
}

fn studio(fetcher: Option<Fetcher>) -> Studio {
    Studio {
        fetcher,
        max_bytes: MAX_IMAGE_BYTES,
        kept: Mutex::default(),
        hasher: RandomState::new(),
    }
}

#[tokio::test]
async fn only_images_that_are_too_large_are_made_smaller_in_proportion() {
    let small = png(8_000, 3);
    let photo = inline("jpeg", &image(4, 8_010, ImageFormat::Jpeg));
    let request = shown(vec![small.clone(), png(16_000, 4), photo]);
    let prepared = studio(None).prepare(request).await;
    let urls = urls(&prepared);
    assert_eq!(urls[0], small);
    assert_eq!(measure(&urls[1]), ("png".to_owned(), 8_000, 2));
    assert_eq!(measure(&urls[2]), ("jpeg".to_owned(), 4, 8_000));
}

#[tokio::test]
async fn many_images_have_to_be_smaller() {
    let sides = async |count: usize| {
        let prepared = studio(None).prepare(shown(vec![png(4_000, 2); count])).await;
        urls(&prepared).iter().map(|url| measure(url).1).max().unwrap()
    };
    assert_eq!(sides(MANY).await, 4_000);
    assert_eq!(sides(MANY + 1).await, 2_000);
}

#[tokio::test]
async fn an_image_of_too_many_bytes_is_made_smaller_until_it_fits() {
    let noise = image::RgbImage::from_fn(300, 150, |x, y| {
        let byte = |factor: u32| (x * 7_919 + y * factor).wrapping_mul(2_654_435_761).to_le_bytes()[3];
        image::Rgb([byte(104_729), byte(1_299_709), byte(15_485_863)])
    });
    for (format, kind) in [(ImageFormat::Png, "png"), (ImageFormat::Jpeg, "jpeg")] {
        let mut bytes = std::io::Cursor::new(Vec::new());
        noise.write_to(&mut bytes, format).unwrap();
        let url = inline(kind, bytes.get_ref());
        let max_bytes = bytes.get_ref().len() / 3;
        let Ok(Prepared::Changed(smaller)) = shrink(&url, MAX_SIDE, max_bytes) else {
            panic!("it was left as it was");
        };
        let (label, width, height) = measure(&smaller);
        assert_eq!((label.as_str(), width), (kind, height * 2));
        assert!(smaller.len() < max_bytes / 3 * 4 + 100);
        assert!(shrink(&url, MAX_SIDE, 100).unwrap_err().contains("100 bytes"));
    }
}

#[tokio::test]
async fn an_image_is_labelled_as_what_it_is() {
    let photo = image(4, 4, ImageFormat::Jpeg);
    for wrong in ["png", "jpg"] {
        let prepared = studio(None).prepare(shown(vec![inline(wrong, &photo)])).await;
        assert_eq!(urls(&prepared), [inline("jpeg", &photo)]);
    }
}

#[tokio::test]
async fn an_image_that_could_not_be_fetched_is_not_asked_for_again() {
    let (base, count) = serve(vec![("/a.png", answer("404 Not Found", b""))]).await;
    let studio = studio(Some(fetcher(only_the_first)));
    for _ in 0..2 {
        let prepared = studio.prepare(shown(vec![format!("{base}/a.png")])).await;
        let text = prepared.messages[0].plain_text();
        assert!(text.contains("HTTP 404"), "{text}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_is_no_image_that_we_know_is_left_to_the_provider() {
    let odd = vec![
        "https://example.com/a.png".to_owned(),
        "data:image/svg+xml,<svg/>".to_owned(),
        "data:image/png;base64,!!!".to_owned(),
        "data:application/pdf;base64,JVBERi0=".to_owned(),
    ];
    let request = shown(odd);
    let prepared = studio(None).prepare(request.clone()).await;
    assert!(Arc::ptr_eq(&prepared.messages[0], &request.messages[0]));
}

#[tokio::test]
async fn an_image_that_cannot_be_sent_leaves_a_note() {
    let huge = format!(
        "data:image/png;base64,{}",
        "A".repeat(MAX_IMAGE_BYTES / 3 * 4 + 8)
    );
    let prepared = studio(None).prepare(shown(vec![huge])).await;
    assert_eq!(
        prepared.messages[0].plain_text(),
        "See:\n[An image was left out: it is larger than 20 MB.]"
    );
    assert!(urls(&prepared).is_empty());

    let mut cut = image(9_000, 4, ImageFormat::Png);
    cut.truncate(cut.len() - 20);
    let prepared = studio(None).prepare(shown(vec![inline("png", &cut)])).await;
    let text = prepared.messages[0].plain_text();
    assert!(text.contains("it has 9000×4 pixels and"), "{text}");
}

/// Answers each request by its path, and counts them.
async fn serve(answers: Vec<(&'static str, Vec<u8>)>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                if stream.read_buf(&mut head).await.unwrap() == 0 {
                    break;
                }
            }
            seen.fetch_add(1, Ordering::SeqCst);
            let head = String::from_utf8_lossy(&head).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let (_, answer) = answers.iter().find(|(known, _)| *known == path).unwrap();
            drop(stream.write_all(answer).await); // it may have seen enough
        }
    });
    (base, count)
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn fetcher(allows: fn(IpAddr) -> bool) -> Fetcher {
    Fetcher::with_rule(deft_net::tls(None).unwrap(), allows).unwrap()
}

/// The tests' own server stands for the internet; the rest of this machine's addresses do not.
fn only_the_first(address: IpAddr) -> bool {
    address == Ipv4Addr::LOCALHOST
}

async fn fetched(url: &str) -> String {
    fetcher(only_the_first)
        .fetch(url)
        .await
        .unwrap_or_else(|error| error.to_string())
}

#[tokio::test]
async fn an_image_on_the_web_is_fetched_once_and_sent_along() {
    let picture = image(3, 2, ImageFormat::Png);
    let (base, count) = serve(vec![
        (
            "/a.png",
            answer("200 OK\r\nContent-Type: Image/PNG; charset=x", &picture),
        ),
        ("/moved", answer("302 Found\r\nlocation: a.png", b"")),
    ])
    .await;
    let studio = studio(Some(fetcher(only_the_first)));
    for _ in 0..2 {
        let prepared = studio.prepare(shown(vec![format!("{base}/moved")])).await;
        assert_eq!(urls(&prepared), [inline("png", &picture)]);
    }
    assert_eq!(
        count.load(Ordering::SeqCst),
        2,
        "one for each of the two addresses"
    );
}

#[tokio::test]
async fn only_images_of_a_sensible_size_are_taken() {
    let (base, _) = serve(vec![
        ("/page", answer("200 OK\r\ncontent-type: text/html", b"<html>")),
        ("/svg", answer("200 OK\r\ncontent-type: image/svg+xml", b"<svg/>")),
        ("/nothing", answer("404 Not Found", b"")),
        ("/nowhere", answer("302 Found", b"")),
        ("/loop", answer("302 Found\r\nlocation: /loop", b"")),
        ("/file", answer("302 Found\r\nlocation: file:///etc/passwd", b"")),
        (
            "/huge",
            answer("200 OK\r\ncontent-type: image/png", &vec![0; MAX_IMAGE_BYTES + 1]),
        ),
    ])
    .await;
    for (path, expected) in [
        ("/page", "not a PNG"),
        ("/svg", "not a PNG"),
        ("/nothing", "HTTP 404"),
        ("/nowhere", "HTTP 302"),
        ("/loop", "more than 5 times"),
        ("/file", "cannot be used"),
        ("/huge", "larger than 20 MB"),
    ] {
        let said = fetched(&format!("{base}{path}")).await;
        assert!(said.contains(expected), "{path}: {said:.80}");
    }
    assert!(fetched("ftp://host/a.png").await.contains("cannot be used"));
    assert!(fetched("nonsense").await.contains("cannot be used"));
}

#[tokio::test]
async fn private_addresses_are_refused_before_a_connection_is_made() {
    let (base, count) = serve(vec![(
        "/",
        answer("200 OK\r\ncontent-type: image/png", b"secret"),
    )])
    .await;
    let port = base.rsplit(':').next().unwrap();
    let public_only = fetcher(deft_types::is_public);
    for host in [
        "127.0.0.1",
        "localhost",
        "0x7f.1",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "169.254.169.254",
    ] {
        let refused = public_only
            .fetch(&format!("http://{host}:{port}/"))
            .await
            .unwrap_err();
        assert!(
            refused.to_string().contains("not on the public internet"),
            "{host}: {refused}"
        );
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_redirect_does_not_lead_to_a_private_address() {
    let (inner, count) = serve(vec![(
        "/",
        answer("200 OK\r\ncontent-type: image/png", b"secret"),
    )])
    .await;
    let by_number = format!(
        "302 Found\r\nlocation: {}/",
        inner.replace("127.0.0.1", "127.0.0.2")
    );
    let (base, _) = serve(vec![("/", answer(&by_number, b""))]).await;
    let said = fetched(&format!("{base}/")).await;
    assert!(said.contains("not on the public internet"), "{said}");
    assert_eq!(count.load(Ordering::SeqCst), 0);
}
