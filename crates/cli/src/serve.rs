//! `deft serve`: conversations over HTTP and sockets.

use std::io::{IsTerminal as _, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use deft_llm::{Finding, Found, LOCAL_PATIENCE, Model, discover, usual_places};
use deft_server::{Composition, Config, Demo, KeyOrigin, Offer, Place, Server};
use deft_types::ConversationId;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Serve;
use crate::client_model;
use crate::compose;
use crate::demo;
use crate::exit::{Exit, UsageError};
use crate::models::OLLAMA_HOST;
use crate::settings::{Settings, Surroundings};

/// Serves until it is told to stop.
pub(crate) async fn serve(args: Serve) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let address = address(&args.host)?;
    if !address.is_loopback() && !args.expose {
        let sentence = format!(
            "{address} can be reached from other machines; add --expose if that is what you want, \
             and give the key only to those you trust with this machine"
        );
        return Err(UsageError(sentence).into());
    }
    let store = compose::open_store(&settings)?;
    let variable = |name: &str| surroundings.env.get(name).cloned();
    let data_dir = settings.data_dir.value.clone();
    let config = Config {
        address,
        port: args.port,
        ..Config::from_variables(variable, data_dir, surroundings.current_dir.clone())?
    };
    let parts = Parts {
        settings,
        ollama_host: variable(OLLAMA_HOST).filter(|host| !host.is_empty()),
        folder: surroundings.current_dir,
    };
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let server = Server::bind(config, store, Arc::new(parts)).await?;
    announce(&server).context("cannot say that the server is ready")?;
    server
        .serve(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        })
        .await;
    Ok(Exit::Finished)
}

fn address(host: &str) -> Result<IpAddr, UsageError> {
    match host {
        "localhost" => Ok(std::net::Ipv4Addr::LOCALHOST.into()),
        host => host.parse().map_err(|_| {
            UsageError(format!(
                "--host must be an address such as 127.0.0.1, not '{host}'"
            ))
        }),
    }
}

/// One line with the link. A key that the user has never seen is part of it, behind the `#`: browsers do not send
/// that part. A person at a terminal gets it again; a log does not.
fn announce(server: &Server) -> std::io::Result<()> {
    let address = server.address();
    let mut out = std::io::stdout().lock();
    match server.key() {
        KeyOrigin::Configured => writeln!(out, "deft: ready at http://{address}/")?,
        KeyOrigin::Kept(_) if !out.is_terminal() => writeln!(
            out,
            "deft: ready at http://{address}/ (the key is in the file session-key of the data directory)"
        )?,
        KeyOrigin::Made(key) | KeyOrigin::Kept(key) => {
            writeln!(out, "deft: ready at http://{address}/#key={}", key.expose())?;
        }
    }
    out.flush()
}

/// The parts of conversations, made as the user's settings say.
struct Parts {
    settings: Settings,
    /// Where the server was started.
    folder: PathBuf,
    /// Where Ollama is, if that was said.
    ollama_host: Option<String>,
}

impl Composition for Parts {
    fn model(&self, llm: &Value) -> Result<Arc<dyn Model>, String> {
        client_model::open(llm, &self.settings).map_err(|error| crate::output::one_sentence(&error))
    }

    fn place(&self, id: ConversationId, root: &Path) -> Result<Place, String> {
        let (workspace, tools) =
            compose::place(&self.settings, id, root).map_err(|error| crate::output::one_sentence(&error))?;
        Ok(Place { workspace, tools })
    }

    fn tools(&self) -> Vec<String> {
        // Those that an agent always has are not chosen.
        ["terminal", "file_editor"].map(str::to_owned).to_vec()
    }

    fn offer(&self) -> Offer {
        Offer {
            model: self.settings.model.value.clone(),
            models: self.settings.models.keys().cloned().collect(),
            folder: self.folder.display().to_string(),
        }
    }

    fn check<'a>(&'a self, llm: &'a Value) -> BoxFuture<'a, Result<Vec<Finding>, String>> {
        let checked = client_model::check(llm, &self.settings);
        checked
            .map(|checked| checked.map_err(|error| crate::output::one_sentence(&error)))
            .boxed()
    }

    fn local_models(&self) -> BoxFuture<'_, Vec<Found>> {
        let places = usual_places(self.ollama_host.as_deref());
        discover(places, LOCAL_PATIENCE).boxed()
    }

    fn demo(&self) -> Result<Demo, String> {
        let folder = demo::new_project().map_err(|error| crate::output::one_sentence(&error))?;
        Ok(Demo {
            folder: folder.display().to_string(),
            task: demo::TASK.to_owned(),
        })
    }
}
