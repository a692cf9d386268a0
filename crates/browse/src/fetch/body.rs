//! The body of an answer as text, within a limit.

use std::io::Write;

use encoding_rs::{Encoding, UTF_8};
use flate2::write::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};

use super::network;
use super::{FetchError, MAX_BODY_BYTES};

/// How far into a page its encoding may be declared.
const DECLARATION_REACH: usize = 1024;

/// What kind of text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Text,
}

/// Text that a server sent.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) text: String,
    pub(super) kind: Kind,
    /// There was more than is read.
    pub(super) cut: bool,
}

impl Body {
    /// Reads the body, if it is text.
    pub(super) async fn read(mut response: Response) -> Result<Self, FetchError> {
        let header = |name: HeaderName| {
            let value = response.headers().get(name)?;
            value.to_str().ok().map(str::to_ascii_lowercase)
        };
        let media = header(CONTENT_TYPE).unwrap_or_default();
        let zipped = header(CONTENT_ENCODING).is_some_and(|encoding| encoding.trim() == "gzip");
        let size = header(CONTENT_LENGTH).map_or_else(String::new, |bytes| format!(" of {bytes} bytes"));
        let not_text = |kind: &str| FetchError::NotText {
            kind: kind.to_owned(),
            size: size.clone(),
        };
        let declared = kind_of(&media).ok_or_else(|| not_text(media_type(&media)))?;

        let mut bytes = Limited::default();
        let mut unzip = zipped.then(|| MultiGzDecoder::new(Limited::default()));
        while let Some(chunk) = response.chunk().await.map_err(|error| network(&error))? {
            let (written, full) = match &mut unzip {
                Some(unzip) => {
                    let written = unzip.write_all(&chunk);
                    (written, unzip.get_ref().full)
                }
                None => (bytes.write_all(&chunk), bytes.full),
            };
            if full {
                break;
            }
            written.map_err(|error| FetchError::Network(format!("the answer is damaged ({error})")))?;
        }
        if let Some(mut unzip) = unzip {
            let _ = unzip.try_finish(); // what came is shown, whole or not
            bytes = std::mem::take(unzip.get_mut());
        }
        let kind = match declared {
            Declared::As(kind) => kind,
            Declared::Nothing => guess(&bytes.bytes).ok_or_else(|| not_text("of no declared type"))?,
        };
        Ok(Self {
            text: decode(&bytes.bytes, &media, kind),
            kind,
            cut: bytes.full,
        })
    }
}

/// Takes so many bytes and no more, however far they unfold.
#[derive(Debug, Default)]
struct Limited {
    bytes: Vec<u8>,
    full: bool,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = MAX_BODY_BYTES - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            self.full = true;
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

enum Declared {
    As(Kind),
    Nothing,
}

fn media_type(media: &str) -> &str {
    media.split(';').next().unwrap_or_default().trim()
}

/// What a server says its answer is; `None` for what is no text.
fn kind_of(media: &str) -> Option<Declared> {
    match media_type(media) {
        "" => Some(Declared::Nothing),
        "text/html" | "application/xhtml+xml" => Some(Declared::As(Kind::Html)),
        kind if kind.starts_with("text/") || kind.ends_with("+json") || kind.ends_with("+xml") => {
            Some(Declared::As(Kind::Text))
        }
        "application/json"
        | "application/xml"
        | "application/javascript"
        | "application/x-ndjson"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/x-sh"
        | "application/sql"
        | "application/graphql" => Some(Declared::As(Kind::Text)),
        _ => None,
    }
}

fn guess(bytes: &[u8]) -> Option<Kind> {
    let beginning = &bytes[..bytes.len().min(DECLARATION_REACH)];
    if beginning.contains(&0) {
        return None;
    }
    let beginning = String::from_utf8_lossy(beginning).to_ascii_lowercase();
    let beginning = beginning.trim_start();
    Some(
        if beginning.starts_with("<!doctype html") || beginning.starts_with("<html") {
            Kind::Html
        } else {
            Kind::Text
        },
    )
}

/// The encoding is what the bytes' own mark says, else the server, else the page; else it is UTF-8.
fn decode(bytes: &[u8], media: &str, kind: Kind) -> String {
    let by_server = charset(media);
    let by_page = || {
        let beginning =
            String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION_REACH)]).to_ascii_lowercase();
        charset(&beginning)
    };
    let encoding = by_server
        .or_else(|| (kind == Kind::Html).then(by_page).flatten())
        .unwrap_or(UTF_8);
    encoding.decode(bytes).0.into_owned()
}

/// The encoding that `charset=` names.
fn charset(text: &str) -> Option<&'static Encoding> {
    let name = text.split_once("charset=")?.1.trim_start_matches(['"', '\'']);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c));
    Encoding::for_label(&name.as_bytes()[..end.unwrap_or(name.len())])
}
