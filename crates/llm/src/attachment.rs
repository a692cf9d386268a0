//! Images and documents of messages, told apart by their addresses.

use deft_types::{Content, Message};

/// Stands in for one that cannot be sent.
pub(crate) const LEFT_OUT: &str =
    "[An attachment was left out: this model does not take it. Most take PNG, JPEG and WebP images.]";

/// What a document is called, which has no name of its own.
pub(crate) const PDF_NAME: &str = "document.pdf";

/// What an address of an image holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attachment<'a> {
    /// An image within the address.
    Image { format: Format, base64: &'a str },
    /// A document within the address.
    Pdf { base64: &'a str },
    /// An image elsewhere.
    Link(&'a str),
    /// Nothing that could be sent: a server would refuse the whole conversation for it.
    Unusable,
}

/// The image formats that providers read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Format {
    /// Its short name, which `image/` makes a media type.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }
}

impl<'a> Attachment<'a> {
    /// Reads an address.
    pub(crate) fn of(url: &'a str) -> Self {
        if url.starts_with("http://") || url.starts_with("https://") {
            return Self::Link(url);
        }
        let Some((kind, base64)) = url
            .strip_prefix("data:")
            .and_then(|rest| rest.split_once(";base64,"))
            .filter(|(_, base64)| !base64.is_empty())
        else {
            return Self::Unusable;
        };
        // Parameters may follow the media type.
        let kind = kind.split(';').next().unwrap_or_default().to_lowercase();
        let format = match kind.as_str() {
            "application/pdf" => return Self::Pdf { base64 },
            "image/png" => Format::Png,
            "image/jpeg" | "image/jpg" => Format::Jpeg,
            "image/gif" => Format::Gif,
            "image/webp" => Format::Webp,
            _ => return Self::Unusable,
        };
        Self::Image { format, base64 }
    }
}

/// The addresses of a message's images.
pub(crate) fn image_urls(message: &Message) -> impl Iterator<Item = &str> {
    let urls = message.content.iter().filter_map(|part| match part {
        Content::Text(_) => None,
        Content::Image(body) => Some(&body.image_urls),
    });
    urls.flatten().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_what_it_holds() {
        let image = |format| Attachment::Image {
            format,
            base64: "QUJD",
        };
        let cases = [
            ("data:image/png;base64,QUJD", image(Format::Png)),
            ("data:image/jpg;base64,QUJD", image(Format::Jpeg)),
            ("data:IMAGE/WebP;charset=binary;base64,QUJD", image(Format::Webp)),
            (
                "data:application/pdf;base64,QUJD",
                Attachment::Pdf { base64: "QUJD" },
            ),
            ("https://host/a.png", Attachment::Link("https://host/a.png")),
            ("data:image/svg+xml;base64,QUJD", Attachment::Unusable),
            ("data:image/png;base64,", Attachment::Unusable),
            ("data:image/png,raw", Attachment::Unusable),
            ("file:///etc/passwd", Attachment::Unusable),
        ];
        for (url, expected) in cases {
            assert_eq!(Attachment::of(url), expected, "{url}");
        }
    }
}
