//! The `deft` command: reads the command line, puts the parts together, and shows what happens.
//!
//! Begin reading at [`args`] (what can be typed), then [`compose`] (how the parts fit) and [`run`].

mod agents;
mod args;
mod backup;
mod checkpoints;
mod client_model;
mod compose;
mod config;
mod delete;
mod demo;
mod doctor;
mod executor;
mod exit;
mod explained;
mod hooks;
mod host_prompt;
mod images;
mod import;
mod list;
mod log;
mod mcp;
mod models;
mod output;
mod packages;
mod replay;
mod restore_backup;
mod rewind;
mod run;
mod screen;
mod secrets;
mod serve;
mod settings;
mod show;
mod skills;
mod toolbox;
mod traces;
mod trust;
mod used_up;
mod users;
mod watch;
mod workspace;
mod worktree;

use std::future::Future;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;

use args::{Cli, Command, Executor};
use exit::{Exit, UsageError};
use settings::SettingsError;

/// How long tasks that have said their last word may take to let go of the store when a server ends. Whoever lets go
/// last closes it, and leaves it in one file.
const LAST_TASKS: Duration = Duration::from_secs(5);

/// Behind the standard streams.
const FIRST_LEFT_OPEN: i32 = 3;

fn main() -> ExitCode {
    // What whoever started us has left open is not for the tools: they could read files and talk to servers by it.
    close_fds::set_fds_cloexec(FIRST_LEFT_OPEN, &[]);
    let command = Cli::parse().command;
    if !matches!(command, Command::Executor(_)) {
        keep_memory_private();
    }
    let result = match command {
        Command::Run(args) => wait(run::run(args)),
        Command::Demo(args) => wait(demo::demo(&args)),
        Command::Serve(args) => wait_on_all_cores(serve::serve(args)),
        Command::List(args) => while_read(wait(list::list(&args))),
        Command::Show(args) => while_read(wait(show::show(&args))),
        Command::Checkpoints(args) => while_read(wait(checkpoints::checkpoints(&args))),
        Command::Restore(args) => wait(checkpoints::restore(&args)),
        Command::Rewind(args) => wait(rewind::rewind(&args)),
        Command::Delete(args) => wait(delete::delete(&args)),
        Command::Replay(args) => while_read(wait(replay::replay(args))),
        Command::Users(args) => while_read(wait(users::users(args))),
        Command::Keys(args) => while_read(wait(users::keys(args))),
        Command::Secrets(args) => wait(secrets::secrets(args)),
        Command::Audit(args) => while_read(wait(users::audit(args))),
        Command::Import(args) => while_read(wait(import::import(&args))),
        Command::Backup(args) => backup::backup(&args),
        Command::RestoreBackup(args) => restore_backup::restore(&args),
        Command::Models(args) => while_read(wait(models::models(args))),
        Command::Mcp(args) => while_read(wait(mcp::mcp(args))),
        Command::Skills(args) => while_read(wait(skills::skills(args))),
        Command::Trust(args) => while_read(wait(trust::trust(args))),
        Command::Images(args) => while_read(wait(images::images(args))),
        Command::Config(args) => while_read(config::config(&args)),
        Command::Doctor(args) => while_read(wait(doctor::doctor(&args))),
        Command::Executor(Executor::Serve(args)) => executor::serve(args).map(|()| Exit::Finished),
        Command::Executor(Executor::Attach(place)) => wait(executor::attach(place)).map(|()| Exit::Finished),
        Command::Executor(Executor::Join {
            directory,
            wait: seconds,
        }) => wait(executor::join(&directory, seconds)).map(|()| Exit::Finished),
        Command::Executor(Executor::Install { to }) => executor::install(&to).map(|()| Exit::Finished),
        Command::Executor(Executor::Relay(args)) => wait(executor::relay(args)).map(|()| Exit::Finished),
        Command::Executor(Executor::Send { link, bytes }) => {
            wait(executor::send(&link, &bytes)).map(|()| Exit::Finished)
        }
        Command::Executor(Executor::Receive { link }) => {
            wait(executor::receive(&link)).map(|()| Exit::Finished)
        }
    };
    result.unwrap_or_else(|error| complain(&error)).into()
}

/// Our environment may hold keys, and tools run as the same user: they shall not read them from `/proc`.
fn keep_memory_private() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable); // where it cannot be had it is not had
}

/// One thread is enough: what is slow waits for others, or runs in the executor.
fn wait<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    // A thread that still waits for standard input must not keep us.
    wait_in(
        tokio::runtime::Builder::new_current_thread(),
        Duration::ZERO,
        command,
    )
}

/// A server has many to answer at once.
fn wait_on_all_cores<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    wait_in(tokio::runtime::Builder::new_multi_thread(), LAST_TASKS, command)
}

fn wait_in<T>(
    mut runtime: tokio::runtime::Builder,
    patience: Duration,
    command: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let runtime = runtime.enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let result = runtime.block_on(command);
    runtime.shutdown_timeout(patience);
    result
}

/// `deft show … | head` has seen enough; that is no failure.
fn while_read(result: anyhow::Result<Exit>) -> anyhow::Result<Exit> {
    let is_closed_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    match result {
        Err(error) if error.downcast_ref().is_some_and(is_closed_pipe) => Ok(Exit::Finished),
        result => result,
    }
}

#[allow(clippy::print_stderr)] // this is the command line
fn complain(error: &anyhow::Error) -> Exit {
    anstream::eprintln!("deft: {}", output::one_sentence(error));
    let settings = error.downcast_ref::<SettingsError>();
    if error.is::<UsageError>() || settings.is_some_and(SettingsError::is_of_a_flag) {
        Exit::Usage
    } else {
        Exit::Failed
    }
}
