//! What a stop leaves of what a command has started: nothing, in every kind of workspace.

use std::path::Path;
use std::time::{Duration, Instant};

use deft_executor::{Client, RunningCall};

use super::{begin, ended, output, processes, wait_until};

/// How long something of a command may still run when that was stopped.
const STOP_LIMIT: Duration = Duration::from_secs(3);

/// Children that have left their session or lost their parent, and those that no signal but the last one ends.
pub(super) async fn leaves_nothing(client: &Client, files: &Path) {
    let sleep = format!("sleep 60{}", std::process::id());
    let command = format!(
        "(setsid {sleep} &); setsid sh -c 'trap \"\" INT TERM HUP; touch apart; {sleep}' & \
         (trap '' INT TERM HUP; touch below; {sleep})"
    );
    let call = begin(client, "stopped", &command).await;
    wait_until("all of them run", || {
        ["apart", "below"].iter().all(|name| files.join(name).exists()) && processes(&sleep).len() > 2
    })
    .await;
    stop(client, call, &sleep).await;
}

/// A command that starts ever more of itself is held to so many processes, and ends like any other.
pub(super) async fn ends_what_multiplies(client: &Client, most: usize) {
    let mark = format!("multiplied{}", std::process::id());
    let bomb = format!("perl -e 'while (1) {{ fork // select(undef, undef, undef, 0.01) }}' {mark}");
    let call = begin(client, "stopped", &bomb).await;
    wait_until("there is no room for more", || processes(&mark).len() > most / 2).await;
    assert!(processes(&mark).len() <= most);
    stop(client, call, &mark).await;
}

/// Stops it. The next command then finds a shell, and nothing on this machine has these words in its command line.
async fn stop(client: &Client, call: RunningCall, words: &str) {
    let begun = Instant::now();
    client.cancel("stopped".into()).await;
    ended(call).await;
    wait_until("nothing of it is left", || processes(words).is_empty()).await;
    assert!(begun.elapsed() < STOP_LIMIT, "{:?}", begun.elapsed());
    client.acknowledge("stopped".into()).await;
    assert_eq!(output(client, "after", "echo alive").await, "alive");
    client.acknowledge("after".into()).await;
}
