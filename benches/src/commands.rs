//! What it costs to run a command where the files are.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use deft_executor::{Client, Outcome, Update};
use deft_types::{Action, ActionId, TerminalAction};
use deft_workspace::Workspace;
use uuid::Uuid;

use crate::place::{Place, runtime};
use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

const COMMANDS: usize = 1000;

pub(crate) fn measure(deft: &Path) -> anyhow::Result<Section> {
    let times = Times::new(runtime()?.block_on(run(deft))?);
    let (p50, p99) = (times.percentile(50), times.percentile(99));
    Ok(Section {
        title: "Commands",
        method: "1,000 times `echo hi`, one after the other, over the executor's socket to a `deft executor` of its \
                 own process and the shell in it; from sending the call until its result is there. The first, which \
                 starts the shell, is not counted.",
        figures: vec![
            Figure::new(
                "`echo hi` through the executor, p50",
                p50,
                Unit::Milliseconds,
                Goal::AtMost(3.0),
            ),
            Figure::new(
                "`echo hi` through the executor, p99",
                p99,
                Unit::Milliseconds,
                Goal::AtMost(15.0),
            ),
        ],
    })
}

async fn run(deft: &Path) -> anyhow::Result<Vec<Duration>> {
    let place = Place::new()?;
    let client = Client::connect(place.workspace(deft).open().await?).await?;
    echo(&client).await?;
    let mut times = Vec::with_capacity(COMMANDS);
    for _ in 0..COMMANDS {
        times.push(echo(&client).await?);
    }
    client.shutdown().await;
    Ok(times)
}

/// Runs a command, and tells how long that took.
pub(crate) async fn echo(client: &Client) -> anyhow::Result<Duration> {
    let id = ActionId::from(Uuid::new_v4());
    let action = Action::from(TerminalAction {
        command: "echo hi".to_owned(),
        ..TerminalAction::default()
    });
    let begun = Instant::now();
    let end = client
        .call(id.clone(), "terminal".to_owned(), action)
        .await
        .end()
        .await;
    let elapsed = begun.elapsed();
    match end {
        Update::Ended(Outcome::Observed { observation }) if !observation.is_error() => {}
        end => bail!("`echo hi` did not run: {end:?}"),
    }
    client.acknowledge(id).await;
    Ok(elapsed)
}
