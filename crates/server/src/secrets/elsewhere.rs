//! A secret that another server keeps.

use std::path::Path;
use std::time::Duration;

use deft_types::Secret;
use reqwest::Url;

const LIMIT: Duration = Duration::from_secs(30);
/// The longest secret that is taken.
const MAX_BYTES: usize = 64 * 1024;

/// Asks for it. What goes wrong is told without what was sent or received.
pub(super) async fn ask_for(
    ca_file: Option<&Path>,
    url: &str,
    headers: Vec<(String, String)>,
) -> Result<Secret<String>, String> {
    let url: Url = url
        .parse()
        .map_err(|error| format!("its address cannot be read: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("its address is not of the web".to_owned());
    }
    let client = deft_net::client(ca_file, &url).map_err(|error| error.to_string())?;
    let mut request = client.get(url).timeout(LIMIT);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let unreached = |error: reqwest::Error| error.without_url().to_string();
    let answer = request.send().await.map_err(unreached)?;
    if !answer.status().is_success() {
        return Err(format!("the server that keeps it answers {}", answer.status()));
    }
    let value = deft_net::body(answer, MAX_BYTES).await.map_err(unreached)?;
    let value = value.ok_or("it is too long for a secret")?;
    let value = String::from_utf8(value).map_err(|_| "it is no text".to_owned())?;
    Ok(Secret::new(value))
}
