//! Where repositories are shared (GitHub, GitLab, Gitea and Forgejo): whose we are there, and pull requests.

mod account;
mod remote;
mod repositories;

pub(crate) use self::account::Account;
pub(crate) use self::remote::Remote;
pub(crate) use self::repositories::Search;

use axum::http::StatusCode;
use reqwest::{Client, Method, RequestBuilder, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::app::App;
use crate::failure::Failure;

/// The longest answer of a forge that is read: a page of a hundred repositories has half a megabyte.
const MAX_ANSWER: usize = 8 * 1024 * 1024;
/// The most of a forge's complaint that is passed on.
const MAX_COMPLAINT: usize = 500;

/// The kinds of forges, by the language that they speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Forge {
    Github,
    Gitlab,
    /// Forgejo speaks the same.
    Gitea,
}

impl Forge {
    /// The one that is known to be at a host.
    pub(crate) fn at(host: &str) -> Option<Self> {
        match host {
            "github.com" => Some(Self::Github),
            "gitlab.com" => Some(Self::Gitlab),
            "codeberg.org" | "gitea.com" => Some(Self::Gitea),
            _ => None,
        }
    }

    /// Under which name a token is shown to git.
    pub(crate) fn user(self) -> &'static str {
        match self {
            Self::Github => "x-access-token",
            Self::Gitlab | Self::Gitea => "oauth2",
        }
    }

    /// What every question begins with.
    fn api(self, address: &Url) -> String {
        let root = address.as_str().trim_end_matches('/');
        match self {
            Self::Github if address.host_str() == Some("github.com") => "https://api.github.com".to_owned(),
            Self::Github => format!("{root}/api/v3"),
            Self::Gitlab => format!("{root}/api/v4"),
            Self::Gitea => format!("{root}/api/v1"),
        }
    }

    /// The path of a repository in its questions.
    fn repository(self, name: &str) -> String {
        match self {
            Self::Github | Self::Gitea => format!("repos/{name}"),
            Self::Gitlab => format!("projects/{}", name.replace('/', "%2F")),
        }
    }
}

/// A pull request to open.
pub(crate) struct PullRequest<'a> {
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
    /// The branch with the work.
    pub(crate) head: &'a str,
    /// The branch that is to get it; none: the usual one.
    pub(crate) base: Option<&'a str>,
}

/// An account, with the way to its forge.
pub(crate) struct Desk<'a> {
    account: &'a Account,
    client: Client,
}

impl<'a> Desk<'a> {
    /// It is the server that asks, so members lead it to the public internet alone, and to where its owner has an account.
    pub(crate) async fn new(app: &App, account: &'a Account) -> Result<Self, Failure> {
        let is_trusted = app.conversations.may_reach_anything() || account.is_known_to_owner(app).await?;
        let client = account.client(app.users.ca_file.as_deref(), is_trusted)?;
        Ok(Self { account, client })
    }

    /// Opens a pull request; gives the address of its page.
    pub(crate) async fn open(&self, repository: &str, request: &PullRequest<'_>) -> Result<String, Failure> {
        let base = match request.base {
            Some(base) => base.to_owned(),
            None => self.usual_branch(repository).await?,
        };
        let forge = self.account.forge;
        let (place, body, page) = match forge {
            Forge::Github | Forge::Gitea => (
                "pulls",
                json!({"title": request.title, "body": request.text, "head": request.head, "base": base}),
                "html_url",
            ),
            Forge::Gitlab => (
                "merge_requests",
                json!({"title": request.title, "description": request.text, "source_branch": request.head,
                    "target_branch": base}),
                "web_url",
            ),
        };
        let path = format!("{}/{place}", forge.repository(repository));
        let answer = self.ask(self.request(Method::POST, &path).json(&body)).await?;
        match answer[page].as_str() {
            Some(page) => Ok(page.to_owned()),
            None => Err(strange()),
        }
    }

    async fn usual_branch(&self, repository: &str) -> Result<String, Failure> {
        let path = self.account.forge.repository(repository);
        let answer = self.ask(self.request(Method::GET, &path)).await?;
        answer["default_branch"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(strange)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let Account {
            forge,
            address,
            token,
        } = self.account;
        let request = self
            .client
            .request(method, format!("{}/{path}", forge.api(address)));
        match forge {
            Forge::Github => request
                .bearer_auth(token.expose())
                .header("Accept", "application/vnd.github+json")
                .header("X-GitHub-Api-Version", "2022-11-28"),
            Forge::Gitlab => request.header("PRIVATE-TOKEN", token.expose()),
            Forge::Gitea => request.header("Authorization", format!("token {}", token.expose())),
        }
    }

    async fn ask(&self, request: RequestBuilder) -> Result<Value, Failure> {
        let host = self.account.host();
        let unreachable = |error: reqwest::Error| {
            if deft_net::is_private_name(&error) {
                return account::not_public();
            }
            let reason = deft_net::root_cause(&error);
            Failure::new(
                StatusCode::BAD_GATEWAY,
                format!("{host} cannot be reached: {reason}"),
            )
        };
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let body = deft_net::body(answer, MAX_ANSWER).await.map_err(unreachable)?;
        let body: Value = serde_json::from_slice(&body.ok_or_else(strange)?).unwrap_or_default();
        if status.is_success() {
            return Ok(body);
        }
        let said: String = complaint(&body).chars().take(MAX_COMPLAINT).collect();
        let sentence = match status.as_u16() {
            401 | 403 => format!(
                "{host} does not accept the token for this ({said}); save another one in the settings"
            ),
            404 => {
                format!("{host} does not know the repository or branch, or the token may not see it ({said})")
            }
            _ => format!("{host} refuses it with {status}: {said}"),
        };
        Err(Failure::new(StatusCode::BAD_GATEWAY, sentence))
    }
}

/// What a forge says is wrong.
fn complaint(body: &Value) -> String {
    let main = &body["message"];
    let first = body["errors"][0]["message"].as_str().unwrap_or_default();
    let main = main.as_str().map_or_else(|| main.to_string(), str::to_owned);
    format!("{main} {first}").trim().to_owned()
}

fn strange() -> Failure {
    let sentence = "the forge answers with something else than expected; is its kind right in the settings?";
    Failure::new(StatusCode::BAD_GATEWAY, sentence)
}
