//! The cookie of who has signed in: it stands for a key, for pages of our own origin alone.
//!
//! A browser sends a cookie along with whatever any page asks for. So it counts only where the page says that it is
//! meant (the word [`IN_COOKIE`] in place of the key, in a header that a form cannot send) or opens a socket, and never
//! where the page is of another origin: `localhost:9999` is another one than `localhost:3000`, though their cookies are
//! the same.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};

use super::gate::KEY_HEADER;

/// The cookie with the key.
pub(crate) const SESSION_COOKIE: &str = "deft_session";
/// What our own app sends in place of a key that it cannot see.
const IN_COOKIE: &str = "cookie";

/// Puts the key of the cookie into the header where that is meant, and takes the word for it away where it is not.
pub(super) fn unwrap(request: &mut Request) {
    let headers = request.headers();
    let given = headers.get(KEY_HEADER);
    let is_meant = given.is_some_and(|given| given == IN_COOKIE);
    let is_socket = headers.contains_key(header::UPGRADE) && given.is_none();
    if !is_meant && !is_socket {
        return;
    }
    // A socket needs no header of the page, so its origin must be there to be looked at.
    let is_ours = match headers.get(header::ORIGIN) {
        Some(origin) => is_own(origin, headers.get(header::HOST)),
        None => is_meant,
    };
    let key = cookie(headers, SESSION_COOKIE).filter(|_| is_ours);
    let key = key.and_then(|key| HeaderValue::from_str(key).ok());
    match key {
        Some(key) => {
            request.headers_mut().insert(KEY_HEADER, key);
        }
        None if is_meant => {
            request.headers_mut().remove(KEY_HEADER); // a word is no guess at a key
        }
        None => {}
    }
}

/// What a cookie of a request holds.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get(header::COOKIE)?.to_str().ok()?;
    let mut cookies = all.split(';').filter_map(|cookie| cookie.trim().split_once('='));
    cookies.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Whether a request comes from a page of ours, or from none that says so: what a page shows of its own origin, and what
/// a program asks for.
pub(super) fn is_ours_or_no_page(headers: &HeaderMap) -> bool {
    let origin = headers.get(header::ORIGIN);
    origin.is_none_or(|origin| is_own(origin, headers.get(header::HOST)))
}

/// Whether a page is one of ours: of the very host and port that it calls.
fn is_own(origin: &HeaderValue, called: Option<&HeaderValue>) -> bool {
    let (Ok(origin), Some(Ok(called))) = (origin.to_str(), called.map(HeaderValue::to_str)) else {
        return false;
    };
    let host = origin
        .strip_prefix("https://")
        .or_else(|| origin.strip_prefix("http://"));
    host.is_some_and(|host| host.eq_ignore_ascii_case(called))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    /// The key that counts for a request with these headers.
    fn key(headers: &[(&str, &str)]) -> Option<String> {
        let mut request = Request::builder()
            .header("host", "localhost:3000")
            .header("cookie", "a=b; deft_session=deft_abc");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        unwrap(&mut request);
        let key = request.headers().get(KEY_HEADER);
        key.map(|key| key.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_cookie_counts_only_where_a_page_of_ours_means_it() {
        let meant = (KEY_HEADER, "cookie");
        let socket = ("upgrade", "websocket");
        let own = ("origin", "http://localhost:3000");
        let found = Some("deft_abc".to_owned());
        assert_eq!(key(&[meant]), found, "a page of ours reads");
        assert_eq!(key(&[meant, own]), found);
        assert_eq!(key(&[socket, own]), found);
        assert_eq!(key(&[]), None, "a form or an image of any page");
        assert_eq!(key(&[own]), None, "a form of ours");
        assert_eq!(key(&[socket]), None);
        for foreign in [
            "http://localhost:9999",
            "https://evil.example",
            "null",
            "http://localhost:3000.evil.example",
        ] {
            assert_eq!(key(&[meant, ("origin", foreign)]), None, "{foreign}");
            assert_eq!(key(&[socket, ("origin", foreign)]), None, "{foreign}");
        }
        assert_eq!(key(&[(KEY_HEADER, "k-one"), own]).as_deref(), Some("k-one"));
    }
}
