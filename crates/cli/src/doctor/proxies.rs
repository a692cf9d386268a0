//! The proxies that the environment names, and whether they answer.

use std::env;
use std::time::Duration;

use futures::future::join_all;
use url::Url;

use super::{Check, good, missing};

const NAME: &str = "proxy";
/// How long one may take to answer.
const LIMIT: Duration = Duration::from_secs(5);
/// The variables by which programs are told of proxies.
const VARIABLES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// Says which there are, and of those that do not answer what to do.
pub(super) async fn checks() -> Vec<Check> {
    let set = VARIABLES.into_iter().filter_map(|name| {
        let value = env::var(name).ok().filter(|value| !value.is_empty())?;
        Some((name, value))
    });
    let set: Vec<_> = set.collect();
    if set.is_empty() {
        return vec![good(NAME, "none is set")];
    }
    let complaints = join_all(set.iter().map(|(name, value)| complaint(name, value))).await;
    let complaints: Vec<_> = complaints.into_iter().flatten().collect();
    if !complaints.is_empty() {
        return complaints;
    }
    let names: Vec<_> = set.iter().map(|(name, _)| *name).collect();
    let text = format!(
        "models, other servers and clusters are reached through {}; sandboxes are not",
        names.join(", ")
    );
    vec![good(NAME, text)]
}

/// What is wrong with a proxy. A password in its address is not shown.
async fn complaint(name: &str, value: &str) -> Option<Check> {
    // As programs read them: an address may lack its beginning.
    let beginning = if value.contains("://") { "" } else { "http://" };
    let url = Url::parse(&format!("{beginning}{value}")).ok();
    let host = url.as_ref().and_then(Url::host_str);
    let Some((url, host)) = url.as_ref().zip(host) else {
        return Some(missing(
            NAME,
            format!("{name} is no address; write it as http://HOST:PORT"),
        ));
    };
    // Whichever kind it is of, somebody listens there.
    let port = url.port_or_known_default().unwrap_or(1080);
    let place = format!("{host}:{port}");
    let asked: Url = format!("http://{place}/").parse().ok()?;
    let client = deft_net::builder(None, &asked).ok()?.no_proxy().build().ok()?;
    let is_silent = match tokio::time::timeout(LIMIT, client.get(asked).send()).await {
        Ok(Err(error)) => error.is_connect(),
        Ok(Ok(_)) => false,
        Err(_) => true,
    };
    let text =
        format!("{name} names {place}, where nothing answers: start that proxy, or unset the variable");
    is_silent.then(|| missing(NAME, text))
}
