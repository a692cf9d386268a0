//! Git accounts, and what is done with them: push a branch, open a pull request.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use deft_executor::Client;
use deft_types::{ConversationId, Secret, Status};
use serde_json::{Value, json};

use super::files::reached;
use super::success;
use crate::app::App;
use crate::extract::{Id, JsonBody, Name, Query, Scope};
use crate::failure::Failure;
use crate::forge::{Account, Desk, Forge, PullRequest, Remote, Search};
use crate::places::asked_path;
use crate::push;
use crate::request::text;
use crate::router::{Access, Route};
use crate::routes::files::refused;
use crate::validation::Issue;

/// The providers of the contract, and the one that we know besides.
const PROVIDERS: [(&str, Option<Forge>); 5] = [
    ("github", Some(Forge::Github)),
    ("gitlab", Some(Forge::Gitlab)),
    ("gitea", Some(Forge::Gitea)),
    ("bitbucket", None),
    ("azure_devops", None),
];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/settings/git_accounts", Access::Key, list),
        Route::put("/api/settings/git_accounts", save),
        Route::delete("/api/settings/git_accounts/{host}", remove),
        Route::get(
            "/api/settings/git_accounts/{host}/repositories",
            Access::Key,
            repositories_of,
        ),
        Route::get("/api/git/repositories/search", Access::Key, repositories),
        Route::get(
            "/api/conversations/{conversation_id}/git/remote",
            Access::Key,
            remote,
        ),
        Route::post("/api/conversations/{conversation_id}/git/push", push_branch),
        Route::post(
            "/api/conversations/{conversation_id}/git/pull_request",
            open_pull_request,
        ),
    ]
}

/// Repositories that the account at a provider can see. Without an account there are none.
async fn repositories(State(app): State<Arc<App>>, query: Query) -> Result<Json<Value>, Failure> {
    let Some(provider) = query.choice("provider", &PROVIDERS)? else {
        return Err(Issue::missing(&["query", "provider"], &Value::Null).into());
    };
    let limit = query.limit()?;
    let page = query.get("page_id").map_or(Ok(1), str::parse);
    let page: u32 = page.map_err(|_| Failure::refused("page_id is none that a page was given with"))?;
    let accounts = Account::list(&app).await?;
    let Some(account) = accounts.iter().find(|account| Some(account.forge) == provider) else {
        return Ok(Json(
            json!({"items": [], "next_page_id": null, "missing_token": true}),
        ));
    };
    let words = query.get("query").unwrap_or_default();
    let desk = Desk::new(&app, account).await?;
    let items = desk.repositories(&Search { words, limit, page }).await?;
    let next = (items.len() == limit).then(|| page.saturating_add(1).to_string());
    Ok(Json(
        json!({"items": items, "next_page_id": next, "missing_token": false}),
    ))
}

/// The first repositories of one account whose names have the words of `query`, with where git finds them.
async fn repositories_of(
    State(app): State<Arc<App>>,
    Name(host): Name,
    query: Query,
) -> Result<Json<Value>, Failure> {
    let account = Account::find(&app, &host).await?;
    let account = account.ok_or_else(Failure::not_found)?;
    let search = Search {
        words: query.get("query").unwrap_or_default(),
        limit: query.limit()?,
        page: 1,
    };
    let found = Desk::new(&app, &account).await?.repositories(&search).await?;
    let shown = found.iter().filter_map(|repository| {
        let name = repository["full_name"].as_str()?;
        Some(json!({"name": name, "address": account.repository(name), "is_public": repository["is_public"]}))
    });
    Ok(Json(json!({"repositories": shown.collect::<Vec<_>>()})))
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    let accounts = Account::list(&app).await?;
    let shown = accounts.iter().map(
        |account| json!({"host": account.host(), "address": account.address.as_str(), "kind": account.forge}),
    );
    Ok(Json(json!({"accounts": shown.collect::<Vec<_>>()})))
}

/// `{"address", "kind"?, "token"}`; the kind may be left out where the host is a known one.
async fn save(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let address = Account::address(text(&body, "address")?)?;
    let said = serde_json::from_value(body["kind"].clone()).ok();
    let forge = said.or_else(|| Forge::at(address.host_str().unwrap_or_default()));
    let token = text(&body, "token")?.trim();
    if token.is_empty() || token.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(Failure::refused("A token has no spaces in it, and is not empty"));
    }
    let account = Account {
        forge: forge
            .ok_or_else(|| Failure::refused("Say which kind of forge it is: github, gitlab or gitea"))?,
        address,
        token: Secret::new(token.to_owned()),
    };
    account.save(&app).await?;
    list(State(app)).await
}

async fn remove(State(app): State<Arc<App>>, Name(host): Name) -> Result<Json<Value>, Failure> {
    if Account::remove(&app, &host).await? {
        Ok(success())
    } else {
        Err(Failure::not_found())
    }
}

/// The repository of a directory, and where it is shared.
struct Place {
    client: Client,
    directory: String,
    branch: Option<String>,
    head: Option<String>,
    remote: Option<Remote>,
}

impl Place {
    /// None: there is no repository.
    async fn find(app: &App, id: ConversationId, path: &str) -> Result<Option<Self>, Failure> {
        let (client, directory) = reached(app, Scope(Some(id)), path).await?;
        let repositories = client
            .git_repositories(&directory)
            .await
            .map_err(|error| refused(&error))?;
        let around = |path: &str| directory == path || directory.starts_with(&format!("{path}/"));
        let Some(repository) = repositories.into_iter().find(|found| around(&found.path)) else {
            return Ok(None);
        };
        let origin = push::origin(&client, &directory).await?;
        Ok(Some(Self {
            client,
            directory,
            branch: repository.branch,
            head: repository.head,
            remote: origin.as_deref().and_then(Remote::parse),
        }))
    }

    /// Everything that a push needs. `to` is what the person saw: if it is something else by now, nothing is done.
    async fn asked(app: &App, id: ConversationId, body: &Value) -> Result<Push, Failure> {
        let conflict = |sentence: &str| Failure::new(StatusCode::CONFLICT, sentence);
        let place = Self::find(app, id, text(body, "path")?).await?;
        let place = place.ok_or_else(|| Failure::refused("This is no git repository"))?;
        let remote = place.remote.clone();
        let remote =
            remote.ok_or_else(|| Failure::refused("The repository has no remote 'origin' at a forge"))?;
        if text(body, "host")? != remote.host || text(body, "repository")? != remote.repository {
            return Err(conflict(
                "The repository's remote has changed meanwhile; look again",
            ));
        }
        let (Some(branch), Some(commit)) = (place.branch.clone(), place.head.clone()) else {
            return Err(conflict("No branch is checked out, or it has no commit yet"));
        };
        let account = Account::find(app, &remote.host).await?;
        let account = account.ok_or_else(|| {
            Failure::refused(format!(
                "There is no git account for {}; add one in the settings",
                remote.host
            ))
        })?;
        Ok(Push {
            place,
            remote,
            branch,
            commit,
            account,
        })
    }
}

struct Push {
    place: Place,
    remote: Remote,
    branch: String,
    commit: String,
    account: Account,
}

async fn remote(State(app): State<Arc<App>>, Id(id): Id, query: Query) -> Result<Json<Value>, Failure> {
    let place = Place::find(&app, id, asked_path(&query)?).await?;
    let remote = place.as_ref().and_then(|place| place.remote.as_ref());
    let account = match remote {
        Some(remote) => Account::find(&app, &remote.host).await?,
        None => None,
    };
    Ok(Json(json!({
        "branch": place.as_ref().and_then(|place| place.branch.as_ref()),
        "host": remote.map(|remote| &remote.host),
        "repository": remote.map(|remote| &remote.repository),
        "kind": account.map(|account| account.forge),
    })))
}

/// `{"path", "host", "repository"}`. Not while the agent works there: it could watch git being handed the token.
async fn push_branch(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let described = app.conversations.catalog.get(id).await?;
    if described.record.status == Status::Running {
        let sentence = "The agent is at work in this workspace; stop or pause it first";
        return Err(Failure::new(StatusCode::CONFLICT, sentence));
    }
    let Push {
        place,
        remote,
        branch,
        commit,
        account,
    } = Place::asked(&app, id, &body).await?;
    push::push(
        &place.client,
        &place.directory,
        &account,
        &remote.repository,
        &commit,
        &branch,
    )
    .await?;
    Ok(Json(json!({"branch": branch, "commit": commit})))
}

/// `{"path", "host", "repository", "title", "text"?, "base"?}`.
async fn open_pull_request(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let push = Place::asked(&app, id, &body).await?;
    let request = PullRequest {
        title: text(&body, "title")?,
        text: body["text"].as_str().unwrap_or_default(),
        head: &push.branch,
        base: body["base"].as_str().filter(|base| !base.is_empty()),
    };
    let desk = Desk::new(&app, &push.account).await?;
    let url = desk.open(&push.remote.repository, &request).await?;
    Ok(Json(json!({ "url": url })))
}
