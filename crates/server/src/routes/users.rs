//! Users, their keys, and what they did: for admins whose key shows secrets.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::success;
use crate::accounts::{Account, AccountError, Accounts, ApiKey, KeyScope, NewAccount, Quota, Role};
use crate::app::App;
use crate::extract::{JsonBody, Name, Query};
use crate::failure::Failure;
use crate::info::utc;
use crate::places::absolute;
use crate::router::{Access, Route};

const DAY: Duration = Duration::from_hours(24);
/// Days of the audit log that are shown where nobody says.
const USUAL_DAYS: u32 = 7;

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/users", Access::Key, list),
        Route::post("/api/users", add),
        Route::patch("/api/users/{user_name}", change),
        Route::get("/api/keys", Access::Key, keys),
        Route::post("/api/keys", create_key),
        Route::delete("/api/keys/{key_id}", revoke),
        Route::get("/api/audit", Access::Key, audit),
    ]
}

/// A user to add.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUser {
    name: String,
    role: Role,
    email: Option<String>,
    sees: Option<String>,
    #[serde(default)]
    folders: Vec<String>,
    #[serde(default)]
    quota: Quota,
}

/// What is to be different. What is left out stays.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    role: Option<Role>,
    /// An empty one: they have none.
    email: Option<String>,
    folders: Option<Vec<String>>,
    quota: Option<Quota>,
    disabled: Option<bool>,
}

/// A key to make.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewKey {
    user: String,
    #[serde(default)]
    label: String,
    scopes: Option<BTreeSet<KeyScope>>,
    days: Option<u32>,
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    let accounts = accounts(&app)?;
    let users: Vec<_> = accounts.users().await?.iter().map(shown).collect();
    Ok(Json(json!({ "users": users })))
}

async fn add(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let accounts = accounts(&app)?;
    let new: NewUser = read(&body)?;
    let account = NewAccount {
        name: new.name,
        role: new.role,
        email: new.email,
        sees: new.sees,
        folders: directories(&new.folders)?,
        quota: new.quota,
    };
    let account = accounts.add(account).await?;
    app.users.directory.refresh().await;
    Ok(Json(shown(&account)))
}

async fn change(
    State(app): State<Arc<App>>,
    Name(name): Name,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let accounts = accounts(&app)?;
    let change: Change = read(&body)?;
    let folders = change.folders.as_deref().map(directories).transpose()?;
    let edit = |account: &mut Account| {
        account.role = change.role.unwrap_or(account.role);
        if account.role != Role::Viewer {
            account.sees = None; // they have conversations of their own
        }
        account.quota = change.quota.unwrap_or(account.quota);
        account.disabled = change.disabled.unwrap_or(account.disabled);
        if let Some(email) = &change.email {
            let email = email.trim().to_ascii_lowercase();
            account.email = Some(email).filter(|email| !email.is_empty());
        }
        if let Some(folders) = &folders {
            account.folders.clone_from(folders);
        }
    };
    let account = accounts.change(&name, edit).await?;
    app.users.directory.refresh().await;
    if change.role.is_some() || folders.is_some() || account.disabled {
        app.users.renew(account.id).await;
    }
    Ok(Json(shown(&account)))
}

async fn keys(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    let accounts = accounts(&app)?;
    let users = accounts.users().await?;
    let shown = |key: &ApiKey| {
        let user = users.iter().find(|user| user.id == key.user);
        shown_key(key, user.map(|user| user.name.as_str()))
    };
    let keys: Vec<_> = accounts.keys().await?.iter().map(shown).collect();
    Ok(Json(json!({ "keys": keys })))
}

/// The text of a key is told here and never again.
async fn create_key(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let accounts = accounts(&app)?;
    let new: NewKey = read(&body)?;
    let lifetime = new.days.map(|days| DAY * days);
    let (key, text) = accounts
        .create_key(&new.user, &new.label, new.scopes, lifetime)
        .await?;
    app.users.directory.refresh().await;
    let mut shown = shown_key(&key, Some(&new.user));
    shown["key"] = text.expose().as_str().into();
    Ok(Json(shown))
}

async fn revoke(State(app): State<Arc<App>>, Name(id): Name) -> Result<Json<Value>, Failure> {
    accounts(&app)?.revoke(&id).await?;
    app.users.directory.refresh().await;
    Ok(success())
}

async fn audit(State(app): State<Arc<App>>, query: Query) -> Result<Json<Value>, Failure> {
    app.for_all()?;
    let days = query.get("days").and_then(|days| days.parse().ok());
    let entries = app.users.audit.last_days(days.unwrap_or(USUAL_DAYS)).await?;
    let shown = entries.iter().map(|entry| {
        json!({"at": utc(entry.at), "user": entry.user, "key": entry.key, "from": entry.from,
            "what": entry.what, "status": entry.status})
    });
    Ok(Json(json!({"entries": shown.collect::<Vec<_>>()})))
}

/// All users, for those who may see them.
fn accounts(app: &App) -> Result<Accounts, Failure> {
    app.for_all()?;
    Ok(Accounts::new(Arc::clone(&app.users.store)))
}

fn read<T: DeserializeOwned>(body: &Value) -> Result<T, Failure> {
    T::deserialize(body).map_err(|error| Failure::refused(format!("The request cannot be read: {error}")))
}

fn directories(paths: &[String]) -> Result<Vec<PathBuf>, Failure> {
    paths.iter().map(|path| absolute(path)).collect()
}

fn shown(user: &Account) -> Value {
    json!({"name": user.name, "role": user.role, "email": user.email, "disabled": user.disabled, "owns_the_store": user.owns_the_store,
        "folders": user.folders, "quota": user.quota, "created_at": utc(user.created_at)})
}

pub(super) fn shown_key(key: &ApiKey, user: Option<&str>) -> Value {
    json!({"id": key.id, "user": user, "label": key.label, "scopes": key.scopes,
        "created_at": utc(key.created_at), "expires_at": key.expires_at.map(utc)})
}

impl From<AccountError> for Failure {
    fn from(error: AccountError) -> Self {
        let sentence = error.to_string();
        match error {
            AccountError::NoSuchUser(_) | AccountError::NoSuchKey(_) => {
                Self::new(StatusCode::NOT_FOUND, sentence)
            }
            AccountError::NameTaken(_) | AccountError::AddressTaken | AccountError::Busy => {
                Self::new(StatusCode::CONFLICT, sentence)
            }
            AccountError::BadName(_)
            | AccountError::FirstIsAdmin
            | AccountError::OnlyViewersSee
            | AccountError::ScopeBeyondRole { .. } => Self::refused(sentence),
            AccountError::Store(error) => error.into(),
            AccountError::Random(error) => error.into(),
            AccountError::Damaged(_) => {
                Self::internal("what is stored about users cannot be read", &sentence)
            }
        }
    }
}
