//! `deft trust`: what this project brings along that would run by itself, and whether it may.

use std::io::Write;

use anyhow::bail;
use deft_engine::{Decision, Decisions, Provided, decide, provided};
use deft_store::Store;
use serde_json::json;

use crate::args::{Trust, TrustNamed};
use crate::compose;
use crate::exit::Exit;
use crate::output::one_line;
use crate::settings::{Settings, Surroundings};
use crate::skills::{self, Disk};

pub(crate) async fn trust(args: Trust) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let here = &surroundings.current_dir;
    let flags = match &args {
        Trust::List(listing) => &listing.flags,
        Trust::Allow(named) | Trust::Deny(named) | Trust::Forget(named) => &named.flags,
    };
    let store = compose::open_store(&Settings::load(flags, &surroundings, here)?)?;
    let repository = skills::roots(&surroundings).repository;
    let found = provided(&Disk, &here.display().to_string(), repository);
    match &args {
        Trust::List(listing) => list(store.as_ref(), &found, listing.json).await?,
        Trust::Allow(named) => change(store.as_ref(), &found, named, Some(Decision::Allow)).await?,
        Trust::Deny(named) => change(store.as_ref(), &found, named, Some(Decision::Deny)).await?,
        Trust::Forget(named) => change(store.as_ref(), &found, named, None).await?,
    }
    Ok(Exit::Finished)
}

async fn list(store: &dyn Store, found: &[Provided], as_json: bool) -> anyhow::Result<()> {
    let decisions = Decisions::load(store).await?;
    let mut out = anstream::AutoStream::auto(std::io::stdout()).lock();
    if as_json {
        let entry = |provided: &Provided| {
            let mut entry = json!(provided);
            entry["decision"] = json!(decisions.about(&provided.fingerprint));
            entry
        };
        writeln!(out, "{:#}", json!(found.iter().map(entry).collect::<Vec<_>>()))?;
        return Ok(());
    }
    if found.is_empty() {
        writeln!(out, "this project brings nothing along that would run by itself")?;
    }
    for provided in found {
        let decision = match decisions.about(&provided.fingerprint) {
            Some(Decision::Allow) => "allowed",
            Some(Decision::Deny) => "denied",
            None => "undecided",
        };
        let (kind, path) = (provided.kind.name(), one_line(&provided.path));
        writeln!(out, "{path}  ({kind}, {decision})")?;
        for script in &provided.scripts {
            writeln!(out, "  runs {}", one_line(script))?;
        }
    }
    Ok(())
}

async fn change(
    store: &dyn Store,
    found: &[Provided],
    named: &TrustNamed,
    decision: Option<Decision>,
) -> anyhow::Result<()> {
    for path in &named.paths {
        let Some(provided) = found.iter().find(|provided| provided.path == *path) else {
            bail!("{path:?} is nothing that this project would run; `deft trust list` shows what is");
        };
        decide(store, &provided.fingerprint, decision).await?;
    }
    Ok(())
}
