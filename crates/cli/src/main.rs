//! The `deft` command: reads the command line, puts the parts together, and shows what happens.
//!
//! Begin reading at [`args`] (what can be typed), then [`compose`] (how the parts fit) and [`run`].

mod args;
mod compose;
mod config;
mod demo;
mod executor;
mod exit;
mod list;
mod models;
mod output;
mod run;
mod settings;
mod show;
mod watch;

use std::future::Future;
use std::io;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use args::{Cli, Command, Executor};
use exit::{Exit, UsageError};

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => wait(run::run(args)),
        Command::Demo(args) => wait(demo::demo(&args)),
        Command::List(args) => wait(list::list(&args)),
        Command::Show(args) => wait(show::show(&args)),
        Command::Models(args) => wait(models::models(args)),
        Command::Config(args) => config::config(&args),
        Command::Executor(Executor::Serve(place)) => wait(executor::serve(place)).map(|()| Exit::Finished),
        Command::Executor(Executor::Attach(place)) => wait(executor::attach(place)).map(|()| Exit::Finished),
    };
    result.unwrap_or_else(|error| complain(&error)).into()
}

/// One thread is enough: what is slow waits for others, or runs in the executor.
fn wait<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start the runtime")?.block_on(command)
}

#[allow(clippy::print_stderr)] // this is the command line
fn complain(error: &anyhow::Error) -> Exit {
    let is_closed_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    if error.downcast_ref().is_some_and(is_closed_pipe) {
        return Exit::Finished; // `deft show … | head` has seen enough
    }
    anstream::eprintln!("deft: {error:#}");
    if error.is::<UsageError>() {
        Exit::Usage
    } else {
        Exit::Failed
    }
}
