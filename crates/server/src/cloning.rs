//! Brings a repository of a forge into a folder of its own.
//!
//! Each step can do no more than it must. The executor of the directory above makes an empty repository that knows where
//! it comes from. An executor of the new folder fetches: its network reaches the forge of its repository, as the
//! workspace's policy has it, and nothing of what is fetched is run. The one above then checks the files out, without
//! hooks, filters or submodules, because the sandbox of the folder would protect some of them.

mod scripts;
mod state;

pub(crate) use self::state::Clonings;

use std::path::Path;

use axum::http::StatusCode;
use deft_executor::Client;
use deft_store::Search;
use deft_types::Status;
use tokio_util::sync::CancellationToken;

use self::scripts::{CHECKOUT, CLEAR, FETCH, PREPARE};
use crate::app::App;
use crate::failure::Failure;
use crate::forge::{Account, Remote};
use crate::git_command::GitCommand;
use crate::places::Site;

/// Where repositories are put in a home.
const FOLDER: &str = "repositories";
/// How long fetching may take, and what happens on this machine alone.
const FETCH_MS: u64 = 60 * 60 * 1000;
const LOCAL_MS: u64 = 10 * 60 * 1000;
/// Conversations that are looked at for one that works above the folder.
const MAX_LOOKED_AT: usize = 1000;

/// A repository that somebody wants to work on.
pub(crate) struct Wish {
    remote: Remote,
    /// Where git finds it.
    address: String,
    /// With which account; none: as anybody.
    account: Option<Account>,
    /// None: the usual one.
    branch: Option<String>,
}

impl Wish {
    /// Reads an address in any form that git knows, and finds the account for it.
    pub(crate) async fn read(app: &App, address: &str, branch: Option<&str>) -> Result<Self, Failure> {
        let address = address.trim();
        let remote = Remote::parse(address).ok_or_else(|| {
            Failure::refused("This is no address of a repository, such as https://github.com/owner/name")
        })?;
        let plain = reqwest::Url::parse(address).ok();
        if plain.as_ref().is_some_and(|url| url.password().is_some()) {
            let sentence =
                "The address has a password in it: leave it out, and add a git account in the settings";
            return Err(Failure::refused(sentence));
        }
        let is_name = |name: &&str| !name.is_empty() && !name.starts_with('-') && !name.contains("..");
        let branch = branch.map(str::trim).filter(|branch| !branch.is_empty());
        if branch.is_some_and(|branch| !is_name(&branch) || branch.chars().any(char::is_control)) {
            return Err(Failure::refused("This is no name of a branch"));
        }
        let account = Account::find(app, &remote.host).await?;
        let scheme = if plain.is_some_and(|url| url.scheme() == "http") {
            "http"
        } else {
            "https"
        };
        let address = match &account {
            Some(account) => account.repository(&remote.repository),
            None => format!("{scheme}://{}/{}.git", remote.host, remote.repository),
        };
        Ok(Self {
            remote,
            address,
            account,
            branch: branch.map(str::to_owned),
        })
    }
}

/// A folder for a repository, which is there and empty but for where it comes from.
pub(crate) struct Prepared {
    wish: Wish,
    /// The executor above, and its directory.
    above: Client,
    root: String,
    pub(crate) folder: String,
}

impl Prepared {
    /// Makes the folder.
    pub(crate) async fn make(app: &App, wish: Wish) -> Result<Self, Failure> {
        let parent = app.places.home.join(FOLDER);
        if wish.account.is_some() {
            refuse_while_watched(app, &parent).await?;
        }
        let site = app
            .places
            .site(app, None, &parent, "The folder for repositories")
            .await?;
        let above = app.places.reach(app, &site).await?;
        let name = wish.remote.repository.rsplit('/').next().unwrap_or(FOLDER);
        let root = site.root.display().to_string();
        let prepare = GitCommand::new(PREPARE, &root, LOCAL_MS).with([
            ("DEFT_PARENT", &parent.display().to_string()),
            ("DEFT_NAME", name),
            ("DEFT_URL", &wish.address),
        ]);
        let said = prepare.run(&above).await?;
        let folder = said.text.lines().last().unwrap_or_default().to_owned();
        if !said.succeeded || !folder.starts_with('/') {
            let sentence = format!("No folder can be made for it: {}", said.complaint(None));
            return Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, sentence));
        }
        Ok(Self {
            wish,
            above,
            root,
            folder,
        })
    }

    /// Fetches and checks out. Where that fails, the folder is gone again.
    pub(crate) async fn fill(
        self,
        app: &App,
        stop: &CancellationToken,
        hear: impl FnMut(&[u8]),
    ) -> Result<(), Failure> {
        let filled = async {
            self.fetch(app, stop, hear).await?;
            let branch = self.wish.branch.as_deref().unwrap_or_default();
            let checkout = GitCommand::new(CHECKOUT, &self.folder, LOCAL_MS).with([("DEFT_BRANCH", branch)]);
            let said = checkout.run(&self.above).await?;
            if said.succeeded {
                return Ok(());
            }
            let sentence = format!("The files cannot be checked out:\n{}", said.complaint(None));
            Err(Failure::refused(sentence))
        };
        let filled = filled.await;
        if filled.is_err() {
            let clear = GitCommand::new(CLEAR, &self.root, LOCAL_MS).with([("DEFT_FOLDER", &self.folder)]);
            clear.run(&self.above).await?;
        }
        filled
    }

    async fn fetch(
        &self,
        app: &App,
        stop: &CancellationToken,
        hear: impl FnMut(&[u8]),
    ) -> Result<(), Failure> {
        let site = Site::apart(Path::new(&self.folder));
        let client = app.places.reach(app, &site).await?;
        let account = self.wish.account.as_ref();
        let redirects = if account.is_some() { "false" } else { "initial" };
        let mut fetch = GitCommand::new(FETCH, &self.folder, FETCH_MS).with([("DEFT_REDIRECTS", redirects)]);
        if let Some(account) = account {
            fetch = fetch.with_account(account);
        }
        let said = fetch.watched(&client, stop, hear).await;
        app.places.close(app, &site, &client).await;
        let said = said?;
        if stop.is_cancelled() {
            return Err(Failure::new(StatusCode::CONFLICT, "It was stopped"));
        }
        if said.succeeded {
            return Ok(());
        }
        let host = &self.wish.remote.host;
        let complaint = said.complaint(account);
        let advice = match account {
            Some(_) => String::new(),
            None => format!("\nIs it a private one? Then add a git account for {host} in the settings."),
        };
        let sentence = format!("{host} did not give the repository:\n{complaint}{advice}");
        Err(Failure::new(StatusCode::BAD_GATEWAY, sentence))
    }
}

/// Whoever works above the folder could watch git being handed the token.
async fn refuse_while_watched(app: &App, parent: &Path) -> Result<(), Failure> {
    let store = &app.conversations.catalog.store;
    let recent = store.search(Search::default(), MAX_LOOKED_AT).await?;
    let watches = |record: &&deft_store::ConversationRecord| {
        record.status == Status::Running && parent.starts_with(&record.workspace)
    };
    match recent.iter().find(watches) {
        None => Ok(()),
        Some(record) => Err(Failure::new(
            StatusCode::CONFLICT,
            format!(
                "An agent is at work in {}, from where it could see your account's token; stop or pause it first",
                record.workspace
            ),
        )),
    }
}
