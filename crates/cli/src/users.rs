//! `deft users`, `deft keys` and `deft audit`: who may use the server, and what they did.

use std::io::Write;
use std::time::Duration;

use deft_server::{Account, Accounts, Audit, AuditEntry, NewAccount, Quota};
use deft_types::Timestamp;
use serde_json::{Value, json};

use crate::args::{AuditLog, Keys, Listing, NewKey, NewUser, QuotaFlags, Users};
use crate::compose;
use crate::exit::Exit;
use crate::output::{json_line, one_line};
use crate::settings::{Flags, Settings, Surroundings};

const DAY: Duration = Duration::from_hours(24);

/// The users and the log of what is done to them.
struct Office {
    accounts: Accounts,
    audit: Audit,
}

impl Office {
    fn open(flags: &Flags) -> anyhow::Result<Self> {
        let surroundings = Surroundings::of_this_process()?;
        let settings = Settings::load(flags, &surroundings, &surroundings.current_dir)?;
        let store = compose::open_store(&settings)?;
        Ok(Self {
            accounts: Accounts::new(store.clone()),
            audit: Audit::new(store),
        })
    }

    /// Keeps in mind what was done, and says it.
    async fn done(&self, what: String) -> anyhow::Result<Exit> {
        say(&what)?;
        let entry = AuditEntry::on_the_command_line(what);
        self.audit.note(&entry).await?;
        Ok(Exit::Finished)
    }
}

pub(crate) async fn users(args: Users) -> anyhow::Result<Exit> {
    match args {
        Users::List(listing) => list_users(&listing).await,
        Users::Add(new) => add(new).await,
        Users::Quota(new) => {
            let office = Office::open(&new.flags)?;
            let limits = quota(&new.quota);
            let account = office
                .accounts
                .change(&new.name, |account| account.quota = limits)
                .await?;
            let sentence = format!("{} may use {}", account.name, quota_line(&account.quota));
            office.done(sentence).await
        }
        Users::Disable(named) => {
            let office = Office::open(&named.flags)?;
            office
                .accounts
                .change(&named.name, |account| account.disabled = true)
                .await?;
            office.done(format!("{} is shut out", named.name)).await
        }
        Users::Enable(named) => {
            let office = Office::open(&named.flags)?;
            office
                .accounts
                .change(&named.name, |account| account.disabled = false)
                .await?;
            office
                .done(format!("{} may use the server again", named.name))
                .await
        }
    }
}

async fn add(new: NewUser) -> anyhow::Result<Exit> {
    let office = Office::open(&new.flags)?;
    let folders: Result<_, _> = new.folders.iter().map(std::fs::canonicalize).collect();
    let account = NewAccount {
        name: new.name,
        role: new.role,
        email: new.email,
        sees: new.sees,
        folders: folders
            .map_err(|error| anyhow::anyhow!("--folder must name a directory that is there: {error}"))?,
        quota: quota(&new.quota),
    };
    let account = office.accounts.add(account).await?;
    let name = &account.name;
    let beginning = if account.owns_the_store {
        "the first user"
    } else {
        "a new user"
    };
    let sentence = format!("{name} is {beginning}, with the role {}", account.role);
    let exit = office.done(sentence).await?;
    say(&format!("make a key with: deft keys create --user {name}"))?;
    Ok(exit)
}

async fn list_users(listing: &Listing) -> anyhow::Result<Exit> {
    let users = Office::open(&listing.flags)?.accounts.users().await?;
    if users.is_empty() && !listing.json {
        say(
            "there are no users: the server is yours alone; add one with `deft users add NAME --role admin`",
        )?;
    }
    for user in &users {
        if listing.json {
            print_json(
                &json!({"name": user.name, "role": user.role, "email": user.email, "disabled": user.disabled,
                "owns_the_store": user.owns_the_store, "folders": user.folders, "quota": user.quota,
                "created_at": Timestamp::at(user.created_at)}),
            )?;
        } else {
            say(&user_line(user))?;
        }
    }
    Ok(Exit::Finished)
}

fn user_line(user: &Account) -> String {
    let state = if user.disabled { ", shut out" } else { "" };
    format!(
        "{:<16} {:<7} {}{state}",
        user.name,
        user.role.as_str(),
        quota_line(&user.quota)
    )
}

fn quota(flags: &QuotaFlags) -> Quota {
    Quota {
        conversations: flags.max_conversations,
        workspaces: flags.max_workspaces,
        spend: flags.max_spend,
    }
}

fn quota_line(quota: &Quota) -> String {
    let parts = [
        quota.conversations.map(|most| format!("{most} conversations")),
        quota.workspaces.map(|most| format!("{most} workspaces")),
        quota.spend.map(|most| format!("${}", most.as_dollars())),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        "as much as they like".to_owned()
    } else {
        parts.join(", ")
    }
}

pub(crate) async fn keys(args: Keys) -> anyhow::Result<Exit> {
    match args {
        Keys::List(listing) => list_keys(&listing).await,
        Keys::Create(new) => create(new).await,
        Keys::Revoke { id, flags } => {
            let office = Office::open(&flags)?;
            office.accounts.revoke(&id).await?;
            office.done(format!("the key {id} is revoked")).await
        }
    }
}

async fn create(new: NewKey) -> anyhow::Result<Exit> {
    let office = Office::open(&new.flags)?;
    let scopes = new.scopes.map(|scopes| scopes.into_iter().collect());
    let lifetime = new.days.map(|days| DAY * days);
    let (key, text) = office
        .accounts
        .create_key(&new.user, &new.label, scopes, lifetime)
        .await?;
    let entry = AuditEntry::on_the_command_line(format!("the key {} is made for {}", key.id, new.user));
    office.audit.note(&entry).await?;
    // The key alone goes to standard output, so that a script can keep it.
    say(text.expose())?;
    Ok(Exit::Finished)
}

async fn list_keys(listing: &Listing) -> anyhow::Result<Exit> {
    let accounts = Office::open(&listing.flags)?.accounts;
    let users = accounts.users().await?;
    for key in accounts.keys().await? {
        let user = users.iter().find(|user| user.id == key.user);
        let user = user.map_or("(nobody)", |user| user.name.as_str());
        let scopes: Vec<_> = key.scopes.iter().map(ToString::to_string).collect();
        let expires = key.expires_at.map(Timestamp::at);
        if listing.json {
            print_json(
                &json!({"id": key.id, "user": user, "label": key.label, "scopes": scopes,
                "created_at": Timestamp::at(key.created_at), "expires_at": expires}),
            )?;
        } else {
            let until =
                expires.map_or_else(|| "for ever".to_owned(), |expires| format!("until {}", expires.0));
            say(&format!(
                "{}  {user:<16} {:<20} {until}  {}",
                key.id,
                scopes.join(","),
                key.label
            ))?;
        }
    }
    Ok(Exit::Finished)
}

pub(crate) async fn audit(args: AuditLog) -> anyhow::Result<Exit> {
    let audit = Office::open(&args.listing.flags)?.audit;
    for entry in audit.last_days(args.days).await? {
        let at = Timestamp::at(entry.at);
        if args.listing.json {
            print_json(
                &json!({"at": at, "user": entry.user, "key": entry.key, "from": entry.from,
                "what": entry.what, "status": entry.status}),
            )?;
        } else {
            let who = entry.user.as_deref().unwrap_or("-");
            let from = entry
                .from
                .map_or_else(|| "here".to_owned(), |from| from.to_string());
            say(&format!(
                "{}  {who:<16} {from:<15} {:>3}  {}",
                at.0, entry.status, entry.what
            ))?;
        }
    }
    Ok(Exit::Finished)
}

/// One line; nothing in it can move the cursor.
fn say(line: &str) -> std::io::Result<()> {
    writeln!(
        anstream::AutoStream::auto(std::io::stdout()).lock(),
        "{}",
        one_line(line)
    )
}

fn print_json(value: &Value) -> anyhow::Result<()> {
    writeln!(std::io::stdout().lock(), "{}", json_line(value)?)?;
    Ok(())
}
