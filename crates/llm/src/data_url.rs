//! Images that stand in a message themselves, as `data:` URLs.

/// What a base64 `data:` URL holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DataUrl<'a> {
    pub(crate) media_type: &'a str,
    pub(crate) base64: &'a str,
}

impl<'a> DataUrl<'a> {
    pub(crate) fn read(url: &'a str) -> Option<Self> {
        let (head, base64) = url.strip_prefix("data:")?.split_once(',')?;
        let media_type = match head.strip_suffix(";base64")?.split(';').next()? {
            "image/jpg" => "image/jpeg", // a common mistake that servers do not forgive
            media_type => media_type,
        };
        Some(Self { media_type, base64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_base64_data_is_read() {
        let image = DataUrl {
            media_type: "image/png",
            base64: "aGk=",
        };
        assert_eq!(DataUrl::read("data:image/png;base64,aGk="), Some(image));
        assert_eq!(
            DataUrl::read("data:image/svg+xml;charset=utf-8;base64,aGk=").map(|image| image.media_type),
            Some("image/svg+xml")
        );
        for other in [
            "https://host/image.png",
            "data:text/plain,hi",
            "data:image/png;base64",
        ] {
            assert_eq!(DataUrl::read(other), None, "{other}");
        }
    }
}
