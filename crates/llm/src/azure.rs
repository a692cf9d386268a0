//! Azure OpenAI: OpenAI's APIs at addresses of their own.

use reqwest::Url;

/// The version of the API that is asked for unless the settings name another.
const API_VERSION: &str = "2024-12-01-preview";

/// Where the chat API of a deployment is.
pub(crate) fn chat_address(base: &Url, deployment: &str, version: Option<&str>) -> Url {
    let segments = ["deployments", deployment, "chat", "completions"];
    address(base, &segments, Some(version.unwrap_or(API_VERSION)))
}

/// Where the Responses API is. Its newest form has no versions; the older ones begin after our usual one.
pub(crate) fn responses_address(base: &Url, version: Option<&str>) -> Url {
    match version {
        Some(_) => address(base, &["responses"], version),
        None => address(base, &["v1", "responses"], None),
    }
}

/// An address under a resource, which people copy from the portal with more or less of the path.
fn address(base: &Url, segments: &[&str], version: Option<&str>) -> Url {
    let mut url = base.clone();
    let path = base.path();
    let gateway = path.split_once("/openai/").map(|(gateway, _)| gateway);
    url.set_path(gateway.or(path.strip_suffix("/openai")).unwrap_or(path));
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().push("openai").extend(segments);
    }
    url.set_query(None);
    if let Some(version) = version {
        url.query_pairs_mut().append_pair("api-version", version);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deployment_and_the_version_are_part_of_the_address() {
        let resource = "https://r.openai.azure.com";
        let chat = "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version";
        let cases = [
            (resource, "d", None, format!("{chat}=2024-12-01-preview")),
            (resource, "d", Some("2025-01-01"), format!("{chat}=2025-01-01")),
            (
                "https://r.openai.azure.com/openai/deployments/x/chat/completions?api-version=1",
                "d",
                Some("2"),
                format!("{chat}=2"),
            ),
            (
                "https://gate/way/openai/",
                "a b",
                Some("2"),
                "https://gate/way/openai/deployments/a%20b/chat/completions?api-version=2".to_owned(),
            ),
        ];
        for (base, deployment, version, expected) in cases {
            let url = chat_address(&Url::parse(base).unwrap(), deployment, version);
            assert_eq!(url.as_str(), expected);
        }
    }

    #[test]
    fn the_responses_api_has_a_version_only_where_one_is_asked_for() {
        let base = Url::parse("https://r.openai.azure.com/").unwrap();
        assert_eq!(
            responses_address(&base, None).as_str(),
            "https://r.openai.azure.com/openai/v1/responses"
        );
        assert_eq!(
            responses_address(&base, Some("2025-04-01-preview")).as_str(),
            "https://r.openai.azure.com/openai/responses?api-version=2025-04-01-preview"
        );
    }
}
