//! Cookies: ours, which the program never sees, and the program's own, which stay within its origin.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;

use super::headers::texts;

/// The cookie of a session.
const COOKIE_NAME: &str = "deft_preview";
/// Nobody else may send or set it, and it works in a frame of another site, for that frame alone.
const COOKIE_LIMITS: &str = "SameSite=None; Secure; Partitioned";

/// What every cookie in a request holds that has the name of ours.
pub(super) fn sessions(headers: &HeaderMap) -> Vec<String> {
    pairs(headers)
        .filter_map(|pair| Some(pair.strip_prefix(COOKIE_NAME)?.strip_prefix('=')?.to_owned()))
        .collect()
}

/// The cookie that begins a session.
pub(super) fn session_cookie(session: &str) -> String {
    format!("{COOKIE_NAME}={session}; Path=/; HttpOnly; {COOKIE_LIMITS}")
}

pub(super) fn without_ours(headers: &HeaderMap) -> String {
    let is_ours = |pair: &String| {
        let name = pair.split_once('=').map_or(pair.as_str(), |(name, _)| name);
        name.trim() == COOKIE_NAME
    };
    let theirs: Vec<_> = pairs(headers).filter(|pair| !is_ours(pair)).collect();
    theirs.join("; ")
}

fn pairs(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let split = |cookies: String| {
        let pairs = cookies.split(';').map(|pair| pair.trim().to_owned());
        pairs.collect::<Vec<_>>()
    };
    texts(headers, &COOKIE).flat_map(split)
}

/// A cookie of the program's own, for its origin alone, which works in a frame. None: it would be ours.
pub(super) fn confined(cookie: &str) -> Option<String> {
    let mut parts = cookie.split(';').map(str::trim);
    let pair = parts.next()?;
    let name = pair.split_once('=').map_or("", |(name, _)| name).trim();
    if name == COOKIE_NAME {
        return None;
    }
    let limits = ["domain", "samesite", "secure", "partitioned"];
    let kept = parts.filter(|part| {
        let name = part.split_once('=').map_or(*part, |(name, _)| name);
        !limits.contains(&name.trim().to_ascii_lowercase().as_str())
    });
    let all: Vec<_> = [pair].into_iter().chain(kept).chain([COOKIE_LIMITS]).collect();
    Some(all.join("; "))
}
