//! What it costs to work somewhere else: in a container, or on another machine.

#[path = "../../tests/servers/dockerd.rs"]
mod dockerd;
#[path = "../../tests/servers/sshd.rs"]
mod sshd;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use deft_docker::{Delivery, Docker, DockerWorkspace, Files, Options};
use deft_executor::Client;
use deft_ssh::{SshWorkspace, Target};
use deft_types::ConversationId;
use deft_workspace::{Terms, Workspace};
use uuid::Uuid;

use crate::commands::echo;
use crate::place::{Place, runtime};
use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

/// Workspaces of each kind that are made.
const WORKSPACES: usize = 20;
/// Commands that are run in the last one.
const COMMANDS: usize = 300;

pub(crate) fn measure(deft: &Path) -> anyhow::Result<Section> {
    let mut figures = Vec::new();
    runtime()?.block_on(async {
        let place = Place::new()?;
        let local = median(&Client::connect(place.workspace(deft).open().await?).await?).await?;
        let program = std::env::current_exe()?;
        let beside = program.parent().context("this program is in no directory")?;
        if let Ok(engine) = dockerd::Dockerd::start(&beside.join("dockerd")) {
            engine.make_image()?;
            let measured = containers(deft, &engine, &place.work()).await?;
            figures.extend(measured.figures(
                local,
                [
                    "a new container until its first output, p95",
                    "`echo hi` in a container, beyond the local one, p50",
                ],
                700.0,
            ));
        }
        if let Ok(server) = sshd::Sshd::start() {
            let measured = machines(deft, &server, &place.work()).await?;
            figures.extend(measured.figures(
                local,
                [
                    "a new connection over ssh until its first output, p95",
                    "`echo hi` over ssh, beyond the local one, p50",
                ],
                400.0,
            ));
        }
        anyhow::Ok(())
    })?;
    Ok(Section {
        title: "Workspaces",
        method: "A Docker engine and an SSH server of their own on this machine. 20 times: a container is made from a \
                 small image that is there, or a connection is made and an executor started from a program that is \
                 there; from asking for it until the output of the first `echo hi` is there. Then 300 times `echo \
                 hi`, the median less that of a local executor. Not measured where neither can be run.",
        figures,
    })
}

/// What one kind of workspace costs.
struct Measured {
    first: Times,
    /// Milliseconds.
    later: f64,
}

impl Measured {
    fn figures(&self, local: f64, names: [&'static str; 2], goal: f64) -> [Figure; 2] {
        let [first, later] = names;
        [
            Figure::new(
                first,
                self.first.percentile(95),
                Unit::Milliseconds,
                Goal::AtMost(goal),
            ),
            Figure::new(
                later,
                (self.later - local).max(0.0),
                Unit::Milliseconds,
                Goal::AtMost(3.0),
            ),
        ]
    }
}

async fn containers(deft: &Path, engine: &dockerd::Dockerd, files: &Path) -> anyhow::Result<Measured> {
    let mut times = Vec::with_capacity(WORKSPACES);
    let mut later = 0.0;
    for number in 1..=WORKSPACES {
        let workspace = DockerWorkspace {
            docker: Docker::at(engine.socket()),
            program: deft.to_owned(),
            delivery: Delivery::Mount,
            conversation: ConversationId(Uuid::new_v4()),
            owner: "benches".to_owned(),
            image: dockerd::IMAGE.to_owned(),
            files: Files::Directory(files.to_owned()),
            reader: None,
            options: Options::default(),
            terms: Terms {
                linger: Duration::from_secs(60),
                ..Terms::default()
            },
            preparation: deft_workspace::Preparation::default(),
            layers: deft_docker::Layers::default(),
        };
        let client = first(&workspace, &mut times).await?;
        if number == WORKSPACES {
            later = median(&client).await?;
        }
        drop(client);
        workspace.remove().await?;
    }
    let first = Times::new(times);
    Ok(Measured { first, later })
}

async fn machines(deft: &Path, server: &sshd::Sshd, files: &Path) -> anyhow::Result<Measured> {
    let workspace = || SshWorkspace {
        target: Target {
            destination: "127.0.0.1".to_owned(),
            port: Some(server.port),
            config: Some(server.path("config")),
            control_directory: server.path("control"),
        },
        root: files.display().to_string(),
        program: deft.to_owned(),
        conversation: ConversationId(Uuid::new_v4()),
        terms: Terms {
            linger: Duration::from_secs(60),
            ..Terms::default()
        },
    };
    let keeper = workspace(); // whose upload the others find
    first(&keeper, &mut Vec::new()).await?;
    let mut times = Vec::with_capacity(WORKSPACES);
    let mut later = 0.0;
    for number in 1..=WORKSPACES {
        keeper.disconnect().await?;
        let workspace = workspace();
        let client = first(&workspace, &mut times).await?;
        if number == WORKSPACES {
            later = median(&client).await?;
        }
        drop(client);
        workspace.remove().await?;
    }
    keeper.remove().await?;
    let first = Times::new(times);
    Ok(Measured { first, later })
}

/// Opens a workspace that nobody has opened before and runs a command in it.
async fn first(workspace: &dyn Workspace, times: &mut Vec<Duration>) -> anyhow::Result<Client> {
    let begun = Instant::now();
    let client = Client::connect(workspace.open().await?).await?;
    echo(&client).await?;
    times.push(begun.elapsed());
    Ok(client)
}

/// The median of many commands, in milliseconds.
async fn median(client: &Client) -> anyhow::Result<f64> {
    let mut times = Vec::with_capacity(COMMANDS);
    for _ in 0..COMMANDS {
        times.push(echo(client).await?);
    }
    Ok(Times::new(times).percentile(50))
}
