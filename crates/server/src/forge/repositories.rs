//! Repositories that an account can see.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Desk, Forge};
use crate::failure::Failure;

/// Which repositories to look for.
pub(crate) struct Search<'a> {
    /// What their names have; nothing: all of the account's.
    pub(crate) words: &'a str,
    /// Of a page, and which page, from 1 on.
    pub(crate) limit: usize,
    pub(crate) page: u32,
}

impl Desk<'_> {
    /// A page of repositories as the contract shows them.
    pub(crate) async fn repositories(&self, search: &Search<'_>) -> Result<Vec<Value>, Failure> {
        let forge = self.account.forge;
        let (limit, page) = (search.limit.to_string(), search.page.to_string());
        let (path, list, parameters): (_, _, &[(&str, &str)]) = match (forge, search.words) {
            (Forge::Github, "") => ("user/repos", "", &[("sort", "pushed")]),
            (Forge::Github, words) => ("search/repositories", "/items", &[("q", words)]),
            (Forge::Gitlab, words) => ("projects", "", &[("membership", "true"), ("search", words)]),
            (Forge::Gitea, words) => ("repos/search", "/data", &[("q", words)]),
        };
        let size = match forge {
            Forge::Github | Forge::Gitlab => "per_page",
            Forge::Gitea => "limit",
        };
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .extend_pairs([(size, &limit), ("page", &page)])
            .finish();
        let request = self.request(Method::GET, &format!("{path}?{query}"));
        let answer = self.ask(request).await?;
        let found = answer.pointer(list).and_then(Value::as_array);
        Ok(found
            .ok_or_else(super::strange)?
            .iter()
            .map(|one| shown(forge, one))
            .collect())
    }
}

fn shown(forge: Forge, repository: &Value) -> Value {
    let (name, stars, pushed) = match forge {
        Forge::Github => ("full_name", "stargazers_count", "pushed_at"),
        Forge::Gitlab => ("path_with_namespace", "star_count", "last_activity_at"),
        Forge::Gitea => ("full_name", "stars_count", "updated_at"),
    };
    let is_public = match forge {
        Forge::Gitlab => repository["visibility"] == "public",
        Forge::Github | Forge::Gitea => repository["private"] == false,
    };
    json!({
        "id": repository["id"].to_string(),
        "full_name": repository[name],
        "git_provider": forge,
        "is_public": is_public,
        "stargazers_count": repository[stars],
        "pushed_at": repository[pushed],
        "main_branch": repository["default_branch"],
    })
}
