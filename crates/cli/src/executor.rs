//! `deft executor`: the process that runs tools beside the files.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use deft_browse::Reachable;
use deft_executor::Executor;
use deft_executor::daemon::Daemon;
use deft_executor::relay::{self, Received, Relay};
use deft_tools::{TerminalOptions, ToolContext};
use deft_workspace::sandbox::{Denials, Launch};
use deft_workspace::{LocalWorkspace, Stream, Terms, Workspace, check_mounted};
use tokio::io::AsyncWriteExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use crate::args::{ExecutorPlace, ExecutorRelay, ExecutorServe};
use crate::explained::Explained;
use crate::settings::WebAddresses;
use crate::toolbox::toolbox;

/// What the process outside adds to its own arguments for the one inside.
const INSIDE: &str = "--inside";

/// Shuts itself in if it is to be, and serves. Nothing here may start a thread before that.
pub(crate) fn serve(args: ExecutorServe) -> anyhow::Result<()> {
    let Some(plan) = &args.plan else {
        check_mounted(&args.place.workspace, &args.kept)?;
        crate::keep_memory_private();
        return crate::wait(serve_calls(args.place, args.roots, None));
    };
    let launch = Launch {
        plan: serde_json::from_str(plan).context("the plan of the sandbox cannot be read")?,
        root: args.place.workspace.clone(),
        directory: args.place.directory.clone(),
        seen: args
            .seen
            .iter()
            .map(|seen| serde_json::from_str(seen))
            .collect::<Result<_, _>>()
            .context("what is mounted cannot be read")?,
    };
    if !args.inside
        && let Some(outside) = launch.prepare(INSIDE)?
    {
        return Ok(launch.run(outside)?);
    }
    launch.restrict_self()?;
    crate::wait(serve_calls(args.place, args.roots, Some(launch)))
}

/// Serves until a client asks for the end, none has been there for long, or it is told to terminate.
async fn serve_calls(
    place: ExecutorPlace,
    roots: Vec<PathBuf>,
    launch: Option<Launch>,
) -> anyhow::Result<()> {
    // A session of its own: Ctrl-C and the end of a terminal are the client's business.
    let _ = rustix::process::setsid();
    deft_tools::become_subreaper().context("cannot adopt the processes that tools leave behind")?;
    let daemon = Daemon::bind(&place.directory)?;
    let mut env: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let mut way_out = None;
    let mut forwarding = JoinSet::new(); // ends with us
    if let Some(launch) = &launch {
        env = launch.environment(env);
        if let Some(forwarder) = launch.way_out().await? {
            env.extend(forwarder.environment());
            way_out = Some(forwarder.address());
            forwarding.spawn(forwarder.serve());
        }
    }
    let context = ToolContext {
        workspace: place.workspace.clone(),
        private_dir: place.directory.clone(),
        env,
    };
    let options = TerminalOptions {
        quiet_limit: Duration::from_secs(place.quiet_limit),
    };
    let reachable = Reachable {
        addresses: place.web_addresses.map(WebAddresses::addresses),
        way_out,
    };
    let denials = launch.as_ref().map(|launch| Arc::new(Denials::of(launch)));
    let tools = toolbox(&context, options, reachable)?.wrapped(|tool| {
        Arc::new(Explained {
            tool,
            denials: denials.clone(),
        })
    });
    let executor = Executor::with_roots(tools, place.workspace.display().to_string(), roots);

    let mut terminate = signal(SignalKind::terminate())?;
    announce_ready()?;
    tokio::select! {
        () = daemon.serve(executor.clone(), Duration::from_secs(place.linger)) => {}
        _ = terminate.recv() => executor.close().await,
    }
    Ok(())
}

/// Whoever started us waits for this byte.
fn announce_ready() -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(b"\n")?;
    stdout.flush()
}

/// Carries bytes between our standard streams and the executor, which is started if it does not run.
pub(crate) async fn attach(place: ExecutorPlace) -> anyhow::Result<()> {
    carry(local(place)?.open().await?).await;
    Ok(())
}

fn local(place: ExecutorPlace) -> std::io::Result<LocalWorkspace> {
    Ok(LocalWorkspace {
        program: std::env::current_exe()?,
        root: place.workspace,
        directory: place.directory,
        terms: Terms {
            linger: Duration::from_secs(place.linger),
            quiet_limit: Duration::from_secs(place.quiet_limit),
            web_addresses: place.web_addresses.map(WebAddresses::name),
        },
        sandbox: None,
    })
}

/// Copies this program to where an executor will be started, with a home for it beside.
pub(crate) fn install(to: &Path) -> anyhow::Result<()> {
    let failed = || format!("cannot install this program as {}", to.display());
    std::fs::copy("/proc/self/exe", to).with_context(failed)?;
    std::fs::set_permissions(to, Permissions::from_mode(0o755)).with_context(failed)?;
    std::fs::create_dir_all(to.with_file_name("home")).with_context(failed)
}

/// Holds a connection to the executor for commands that carry bytes to it and from it.
pub(crate) async fn relay(args: ExecutorRelay) -> anyhow::Result<()> {
    let relay = Relay::bind(&args.link)?;
    let workspace = local(args.place)?;
    let opened = if args.only_join {
        workspace
            .find()
            .await
            .ok_or_else(|| "no executor runs".to_owned())
    } else {
        workspace.open().await.map_err(|error| error.to_string())
    };
    match opened {
        Ok(stream) => relay.serve(stream).await,
        Err(reason) => relay.refuse(&reason).await,
    }
    Ok(())
}

/// Brings bytes to the executor of a relay.
pub(crate) async fn send(link: &Path, bytes: &str) -> anyhow::Result<()> {
    let bytes = BASE64_STANDARD
        .decode(bytes)
        .context("the bytes are not base64")?;
    Ok(relay::send(link, &bytes).await?)
}

/// Prints what the executor of a relay says next.
pub(crate) async fn receive(link: &Path) -> anyhow::Result<()> {
    let text = match relay::receive(link).await? {
        Received::Bytes(bytes) => BASE64_STANDARD.encode(bytes),
        Received::Nothing => String::new(),
        Received::End => "end".to_owned(),
    };
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Carries bytes between our standard streams and the executor, which is never started.
pub(crate) async fn join(directory: &Path, seconds: u64) -> anyhow::Result<()> {
    let joined = deft_executor::daemon::join(directory, Duration::from_secs(seconds)).await;
    carry(joined.with_context(|| format!("no executor listens in {}", directory.display()))?).await;
    Ok(())
}

async fn carry(executor: impl Stream) {
    let (mut from_executor, mut to_executor) = tokio::io::split(executor);
    let (mut stdin, mut stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let talk = async {
        let _ = tokio::io::copy(&mut stdin, &mut to_executor).await;
        let _ = to_executor.shutdown().await;
        std::future::pending::<()>().await; // the last answers are still to come
    };
    // The end of the executor's side is the end, however it comes about.
    tokio::select! {
        _ = tokio::io::copy(&mut from_executor, &mut stdout) => {}
        () = talk => {}
    }
}
