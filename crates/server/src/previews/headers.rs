//! What of a request reaches the program, and what of its answer the browser.
//!
//! The program is told what it would hear from a browser beside it: many refuse to be called by another name. Our cookie
//! stays here, and what it says about cookies, frames and the site as a whole is kept to its own origin.

use axum::http::header::{
    CONNECTION, CONTENT_SECURITY_POLICY, COOKIE, FORWARDED, HOST, LOCATION, ORIGIN, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, REFERER, SET_COOKIE, STRICT_TRANSPORT_SECURITY, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::cookies::{confined, without_ours};
use crate::security::KEY_HEADER;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const ALT_SVC: HeaderName = HeaderName::from_static("alt-svc");
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");
const AGENT_CLUSTER: HeaderName = HeaderName::from_static("origin-agent-cluster");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// What concerns one connection and not the next.
const OF_THE_CONNECTION: [HeaderName; 7] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
];

/// The two ends that words have to be exchanged for.
pub(super) struct Ends<'a> {
    pub(super) scheme: &'a str,
    /// The name that the browser called.
    pub(super) host: &'a str,
    pub(super) port: u16,
}

impl Ends<'_> {
    /// The origin that the browser sees.
    pub(super) fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.host)
    }

    fn program(&self) -> String {
        format!("localhost:{}", self.port)
    }

    /// A request as the program gets it.
    pub(super) fn to_program(&self, headers: &mut HeaderMap, is_upgrade: bool) {
        let upgrade = headers.get(UPGRADE).cloned();
        drop_connection(headers);
        for name in [FORWARDED, FORWARDED_FOR, HeaderName::from_static(KEY_HEADER)] {
            headers.remove(name);
        }
        set(headers, FORWARDED_HOST, self.host);
        set(headers, FORWARDED_PROTO, self.scheme);
        set(headers, HOST, &self.program());
        for name in [ORIGIN, REFERER] {
            let said = headers.get(&name).and_then(|said| said.to_str().ok());
            let rest = said.and_then(|said| said.strip_prefix(&self.origin()));
            if let Some(theirs) = rest.map(|rest| format!("http://{}{rest}", self.program())) {
                set(headers, name, &theirs);
            }
        }
        let cookies = without_ours(headers);
        headers.remove(COOKIE);
        if !cookies.is_empty() {
            set(headers, COOKIE, &cookies);
        }
        if let Some(upgrade) = upgrade.filter(|_| is_upgrade) {
            headers.insert(UPGRADE, upgrade);
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        }
    }

    /// An answer as the browser gets it.
    pub(super) fn to_browser(&self, headers: &mut HeaderMap, is_upgrade: bool, framed_by: Option<&str>) {
        let upgrade = headers.get(UPGRADE).cloned();
        drop_connection(headers);
        for name in [
            X_FRAME_OPTIONS,
            STRICT_TRANSPORT_SECURITY,
            ALT_SVC,
            CLEAR_SITE_DATA,
        ] {
            headers.remove(name);
        }
        let cookies = texts(headers, &SET_COOKIE);
        let cookies: Vec<String> = cookies.filter_map(|cookie| confined(&cookie)).collect();
        replace(headers, &SET_COOKIE, cookies);
        let policies = texts(headers, &CONTENT_SECURITY_POLICY).map(|policy| without_ancestors(&policy));
        let ours = format!("frame-ancestors 'self' {}", framed_by.unwrap_or_default());
        let policies: Vec<String> = policies
            .chain([ours.trim_end().to_owned()])
            .filter(|policy| !policy.is_empty())
            .collect();
        replace(headers, &CONTENT_SECURITY_POLICY, policies);
        set(headers, AGENT_CLUSTER, "?1");
        let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
        if let Some(location) = location.and_then(|location| self.own_path(location)) {
            set(headers, LOCATION, &location);
        }
        if let Some(upgrade) = upgrade.filter(|_| is_upgrade) {
            headers.insert(UPGRADE, upgrade);
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        }
    }

    /// An address of the program's own, as it is seen from outside.
    fn own_path(&self, location: &str) -> Option<String> {
        let names = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];
        let rest = names.iter().find_map(|name| {
            let rest = location.strip_prefix(&format!("http://{name}:{}", self.port))?;
            (rest.is_empty() || rest.starts_with(['/', '?', '#'])).then_some(rest)
        })?;
        Some(format!("{}{rest}", self.origin()))
    }
}

fn drop_connection(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = texts(headers, &CONNECTION)
        .flat_map(|list| list.split(',').map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&OF_THE_CONNECTION).chain([&UPGRADE]) {
        headers.remove(name);
    }
}

/// A policy that says nothing of who may frame the page: that is ours to say.
fn without_ancestors(policy: &str) -> String {
    let is_other = |part: &&str| !part.to_ascii_lowercase().starts_with("frame-ancestors");
    let kept: Vec<_> = policy.split(';').map(str::trim).filter(is_other).collect();
    kept.join("; ").trim_matches([';', ' ']).to_owned()
}

/// All values of a header that are texts.
pub(super) fn texts(headers: &HeaderMap, name: &HeaderName) -> impl Iterator<Item = String> + use<> {
    let values: Vec<_> = headers
        .get_all(name)
        .iter()
        .filter_map(|value| Some(value.to_str().ok()?.to_owned()))
        .collect();
    values.into_iter()
}

fn replace(headers: &mut HeaderMap, name: &HeaderName, values: Vec<String>) {
    headers.remove(name);
    for value in values {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.append(name, value);
        }
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::previews::cookies::sessions;

    const ENDS: Ends<'static> = Ends {
        scheme: "http",
        host: "p3000-x.localhost:4000",
        port: 3000,
    };

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn the_program_hears_its_own_name_and_nothing_of_ours() {
        let mut asked = headers(&[
            ("host", "p3000-x.localhost:4000"),
            ("origin", "http://p3000-x.localhost:4000"),
            ("referer", "http://p3000-x.localhost:4000/a?b"),
            ("cookie", "a=1; deft_preview=secret; b=2"),
            ("x-session-api-key", "k"),
            ("connection", "keep-alive, x-private"),
            ("x-private", "1"),
            ("x-forwarded-for", "10.0.0.1"),
        ]);
        assert_eq!(sessions(&asked), ["secret"]);
        ENDS.to_program(&mut asked, false);
        let expected = headers(&[
            ("host", "localhost:3000"),
            ("origin", "http://localhost:3000"),
            ("referer", "http://localhost:3000/a?b"),
            ("cookie", "a=1; b=2"),
            ("x-forwarded-host", "p3000-x.localhost:4000"),
            ("x-forwarded-proto", "http"),
        ]);
        assert_eq!(asked, expected);
    }

    #[test]
    fn what_a_program_says_counts_for_its_own_origin_alone() {
        let mut answer = headers(&[
            ("set-cookie", "deft_preview=mine"),
            ("x-frame-options", "DENY"),
            (
                "content-security-policy",
                "default-src 'self'; Frame-Ancestors 'none'",
            ),
            ("location", "http://127.0.0.1:3000/next?x"),
            ("clear-site-data", "\"cookies\""),
        ]);
        answer.append(
            "set-cookie",
            HeaderValue::from_static("id=7; Domain=localhost; Path=/; SameSite=Lax"),
        );
        ENDS.to_browser(&mut answer, false, Some("http://127.0.0.1:3000"));
        let all = |name: &str| {
            let values = answer.get_all(name).iter();
            values
                .map(|value| value.to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            all("set-cookie"),
            ["id=7; Path=/; SameSite=None; Secure; Partitioned"]
        );
        assert_eq!(
            all("content-security-policy"),
            [
                "default-src 'self'",
                "frame-ancestors 'self' http://127.0.0.1:3000"
            ]
        );
        assert_eq!(all("location"), ["http://p3000-x.localhost:4000/next?x"]);
        assert!(all("x-frame-options").is_empty() && all("clear-site-data").is_empty());
    }

    #[test]
    fn only_the_programs_own_address_is_exchanged() {
        for foreign in [
            "http://127.0.0.1:30001/",
            "https://example.org/",
            "/relative",
            "http://localhost/",
        ] {
            assert_eq!(ENDS.own_path(foreign), None, "{foreign}");
        }
    }
}
