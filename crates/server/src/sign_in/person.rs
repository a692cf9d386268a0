//! Which of our accounts somebody has who signed in elsewhere.
//!
//! They are known by what the provider never gives to another: its name for them. An address that it has verified
//! leads to the account with that address, once; a name that people choose for themselves leads nowhere.

use deft_store::Store;
use serde_json::Value;

use super::claims::Claims;
use super::{Refusal, SignInSettings};
use crate::accounts::{Account, AccountError, Accounts, NewAccount, Quota, Role, hash};

/// Where it is kept whose account is whose.
const LINKS: &str = "sign-ins/";
/// How many names are tried for somebody who is new.
const MAX_NAMES: usize = 100;
/// The longest beginning of such a name.
const MAX_NAME: usize = 24;

/// The account of somebody, and whether they may do something else now; a new one, where that is wanted.
pub(super) async fn account_of(
    settings: &SignInSettings,
    accounts: &Accounts,
    store: &dyn Store,
    claims: &Claims,
) -> Result<(Account, bool), Refusal> {
    check_domain(settings, claims)?;
    let role = role_of(settings, claims)?;
    let link = format!(
        "{LINKS}{}",
        hash(&format!("{}\0{}", settings.issuer, claims.subject))
    );
    let users = accounts.users().await?;
    let linked = store.document(&link).await.map_err(AccountError::from)?;
    let known = match &linked {
        Some(id) => users.iter().find(|user| user.id.hex() == *id),
        None => users
            .iter()
            .find(|user| user.email.is_some() && user.email == claims.email),
    };
    let account = match known {
        Some(account) => account.clone(),
        None if linked.is_some() => return Err(Refusal::NotWelcome("your account is gone")),
        None if settings.create_users => create(accounts, claims, role.ok_or(NO_ROLE)?).await?,
        None => return Err(Refusal::NotWelcome("nobody has added you")),
    };
    if account.disabled {
        return Err(Refusal::NotWelcome("your account is switched off"));
    }
    if linked.is_none() {
        let linked = store.swap_document(link, None, Some(account.id.hex()));
        linked.await.map_err(AccountError::from)?;
    }
    match role {
        // Groups say what somebody may do, each time. Who owns the store stays an admin.
        Some(role) if !settings.roles.is_empty() && role != account.role && !account.owns_the_store => {
            let changed = accounts
                .change(&account.name, |account| {
                    account.role = role;
                    account.sees = account.sees.filter(|_| role == Role::Viewer);
                })
                .await?;
            Ok((changed, true))
        }
        _ => Ok((account, false)),
    }
}

const NO_ROLE: Refusal = Refusal::NotWelcome("you are in none of the groups that may");

fn check_domain(settings: &SignInSettings, claims: &Claims) -> Result<(), Refusal> {
    if settings.allowed_domains.is_empty() {
        return Ok(());
    }
    let domain = claims.email.as_ref().and_then(|email| email.rsplit_once('@'));
    let is_allowed =
        domain.is_some_and(|(_, domain)| settings.allowed_domains.iter().any(|known| known == domain));
    if is_allowed {
        Ok(())
    } else {
        Err(Refusal::NotWelcome(
            "your verified address is not of a domain that may",
        ))
    }
}

/// What somebody may do by their groups. None: their account says it.
fn role_of(settings: &SignInSettings, claims: &Claims) -> Result<Option<Role>, Refusal> {
    if settings.roles.is_empty() {
        return Ok(settings.default_role);
    }
    let groups: Vec<&str> = match &claims.all[&settings.groups_claim] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let has = |role| {
        settings
            .roles
            .iter()
            .any(|(group, of)| *of == role && groups.contains(&group.as_str()))
    };
    let strongest = [Role::Admin, Role::Member, Role::Viewer]
        .into_iter()
        .find(|role| has(*role));
    strongest.or(settings.default_role).map(Some).ok_or(NO_ROLE)
}

/// A new account, under a name like the one they have there.
async fn create(accounts: &Accounts, claims: &Claims, role: Role) -> Result<Account, Refusal> {
    let wanted = name_like(claims.nickname.as_deref().unwrap_or_default());
    for number in 1..=MAX_NAMES {
        let name = if number == 1 {
            wanted.clone()
        } else {
            format!("{wanted}-{number}")
        };
        let added = accounts.add(NewAccount {
            name,
            role,
            email: claims.email.clone(),
            sees: None,
            folders: Vec::new(),
            quota: Quota::default(),
        });
        match added.await {
            Err(AccountError::NameTaken(_)) => {}
            added => return Ok(added?),
        }
    }
    Err(AccountError::NameTaken(wanted).into())
}

/// A name that an account can have.
fn name_like(text: &str) -> String {
    let text = text.split('@').next().unwrap_or_default().to_ascii_lowercase();
    let is_good = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_');
    let name: String = text
        .chars()
        .filter(is_good)
        .skip_while(|c| !c.is_ascii_lowercase())
        .take(MAX_NAME)
        .collect();
    if name.is_empty() { "user".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_whatever_there_is() {
        for (text, name) in [
            ("Ann.Smith@example.org", "ann.smith"),
            ("42-bob", "bob"),
            ("../../x", "x"),
            ("李", "user"),
            ("", "user"),
        ] {
            assert_eq!(name_like(text), name);
        }
    }
}
