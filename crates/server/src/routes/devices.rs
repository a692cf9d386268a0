//! Further devices of whoever asks: keys that open the app there, with less than one's own key is good for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::success;
use super::users::shown_key;
use crate::accounts::{Account, AccountError, Accounts, ApiKey, KeyScope, NewAccount, Quota, Role};
use crate::app::App;
use crate::extract::{JsonBody, Name};
use crate::failure::Failure;
use crate::router::{Access, Route};
use crate::security::Caller;

const PATH: &str = "/api/devices";
/// What the keys of devices are called, so that they are told apart from others.
const LABEL: &str = "device";
/// The user who stands for the owner of a server where nobody has added one.
const OWNER: &str = "me";
const DAY: Duration = Duration::from_hours(24);

/// A device to be let in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewDevice {
    scopes: BTreeSet<KeyScope>,
    days: u32,
}

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get(PATH, Access::Key, list),
        Route::post(PATH, pair),
        Route::delete("/api/devices/{key_id}", revoke),
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Value>, Failure> {
    let accounts = Accounts::new(Arc::clone(&app.users.store));
    let devices = devices(&accounts, &caller).await?;
    let devices: Vec<_> = devices.iter().map(|key| shown_key(key, None)).collect();
    Ok(Json(json!({ "devices": devices })))
}

/// The key is told here and never again.
async fn pair(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let device = NewDevice::deserialize(&body)
        .map_err(|error| Failure::refused(format!("The request cannot be read: {error}")))?;
    let accounts = Accounts::new(Arc::clone(&app.users.store));
    no_more_than(&caller, &accounts, &device).await?;
    let user = match account(&accounts, &caller).await? {
        Some(account) => account.name,
        None => accounts.add(owner()).await?.name,
    };
    let lifetime = Some(DAY * device.days);
    let (key, text) = accounts
        .create_key(&user, LABEL, Some(device.scopes), lifetime)
        .await?;
    app.users.directory.refresh().await;
    let mut shown = shown_key(&key, Some(&user));
    shown["key"] = text.expose().as_str().into();
    Ok(Json(shown))
}

/// A device is good for no more than the key that lets it in, and not for longer.
async fn no_more_than(caller: &Caller, accounts: &Accounts, device: &NewDevice) -> Result<(), Failure> {
    if let Some(scope) = device.scopes.difference(&caller.scopes).next() {
        let why = format!("Your own key is not good for '{scope}': leave that scope out, or use another key");
        return Err(Failure::refused(why));
    }
    let keys = accounts.keys().await?;
    let own = keys.iter().find(|key| Some(&key.id) == caller.key.as_ref());
    let until = SystemTime::now() + DAY * device.days;
    match own.and_then(|key| key.expires_at) {
        Some(end) if end < until => Err(Failure::refused(
            "Your own key ends before that: ask for fewer days, or use another key",
        )),
        _ => Ok(()),
    }
}

async fn revoke(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Json<Value>, Failure> {
    let accounts = Accounts::new(Arc::clone(&app.users.store));
    let devices = devices(&accounts, &caller).await?;
    if !devices.iter().any(|key| key.id == id) {
        return Err(AccountError::NoSuchKey(id).into());
    }
    accounts.revoke(&id).await?;
    app.users.directory.refresh().await;
    Ok(success())
}

/// The devices of whoever asks.
async fn devices(accounts: &Accounts, caller: &Caller) -> Result<Vec<ApiKey>, Failure> {
    let Some(account) = account(accounts, caller).await? else {
        return Ok(Vec::new());
    };
    let mut keys = accounts.keys().await?;
    keys.retain(|key| key.user == account.id && key.label == LABEL);
    Ok(keys)
}

/// Who asks. Whoever has a key that the server was started with is the first user, if there is one.
async fn account(accounts: &Accounts, caller: &Caller) -> Result<Option<Account>, Failure> {
    if let Some(name) = &caller.name {
        return Ok(Some(accounts.user(name).await?));
    }
    let users = accounts.users().await?;
    Ok(users.into_iter().find(|user| user.owns_the_store))
}

fn owner() -> NewAccount {
    NewAccount {
        name: OWNER.to_owned(),
        role: Role::Admin,
        email: None,
        sees: None,
        folders: Vec::new(),
        quota: Quota::default(),
    }
}
