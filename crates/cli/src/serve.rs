//! `deft serve`: conversations over HTTP and sockets.

mod parts;

use std::io::{IsTerminal as _, Write as _};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use deft_server::{Config, Dormant, Init, KeyOrigin, Server};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use self::parts::Parts;
use crate::args::Serve;
use crate::compose;
use crate::exit::{Exit, UsageError};
use crate::settings::{Settings, Source, Surroundings};
use crate::traces;

/// Serves until it is told to stop.
pub(crate) async fn serve(args: Serve) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let address = address(&args.host)?;
    if !address.is_loopback() && !args.expose {
        let sentence = format!(
            "{address} can be reached from other machines; add --expose if that is what you want, \
             and give the key only to those you trust with this machine"
        );
        return Err(UsageError(sentence).into());
    }
    let start = Start {
        args,
        address,
        surroundings,
    };
    let (settings, config) = start.set_up(None)?;
    let said = OnceLock::new(); // what somebody said over the environment
    let traces = traces::wanted(&settings, &start.surroundings)?;
    crate::log::begin(
        |name: &str| start.surroundings.env.get(name).cloned(),
        traces.as_ref(),
    );
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut told_to_stop = async || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let listener = deft_server::listen(address, start.args.port).await?;
    let running = match config.init_key.clone() {
        None => start.begin(&listener, settings, config).await?,
        Some(key) => {
            announce_waiting(&listener).context("cannot say that the server waits")?;
            let wake = async |init: Init| {
                let begun = async {
                    let (settings, config) = start.set_up(Some(&init))?;
                    let _ = said.set(init); // it is said once
                    let init_key = Some(key.clone());
                    start
                        .begin(&listener, settings, Config { init_key, ..config })
                        .await
                };
                begun.await.map_err(|error| crate::output::one_sentence(&error))
            };
            let dormant = Dormant::new(&config, key.clone());
            match dormant.wait(&listener, told_to_stop(), wake).await {
                Some(running) => running,
                None => return Ok(Exit::Finished),
            }
        }
    };
    announce(&running.server).context("cannot say that the server is ready")?;
    // It tries what this machine can do, which nobody has to wait for.
    let parts = Arc::clone(&running.parts);
    let telling = tokio::task::spawn_blocking(move || parts.tell_gaps());
    let reload = async {
        while hang_up.recv().await.is_some() {
            match start.settings(said.get()) {
                Ok((settings, _)) => running.parts.replace(settings),
                Err(error) => tracing::error!(%error, "the settings stay as they are"),
            }
        }
    };
    let stop = async {
        tokio::select! {
            () = reload => {}
            () = told_to_stop() => {}
        }
    };
    let serve = running.server.serve(stop);
    match &running.parts.pool {
        None => serve.await,
        Some(pool) => {
            tokio::select! {
                () = serve => {}
                () = pool.keep_full() => {}
            }
            pool.close().await;
        }
    }
    let _ = telling.await; // it ends by itself
    if let Some(traces) = traces {
        traces.end().await;
    }
    Ok(Exit::Finished)
}

/// What the user started.
struct Start {
    args: Serve,
    address: IpAddr,
    surroundings: Surroundings,
}

/// What the contract's variables for it would say, as far as it was known when the program was built.
fn built_from(variable: &str) -> Option<String> {
    let known = match variable {
        "OPENHANDS_BUILD_GIT_SHA" => option_env!("DEFT_GIT_SHA"),
        "OPENHANDS_BUILD_GIT_REF" => option_env!("DEFT_GIT_REF"),
        _ => None,
    };
    known.map(str::to_owned)
}

/// A server, and what its conversations are made of.
struct Running {
    server: Server,
    parts: Arc<Parts>,
}

impl Start {
    /// The settings as they are now, by the environment and what was said over it.
    fn settings(&self, init: Option<&Init>) -> anyhow::Result<(Settings, Surroundings)> {
        let mut surroundings = self.surroundings.clone();
        if let Some(init) = init {
            init.apply(&mut surroundings.env);
        }
        let mut settings = Settings::load(&self.args.flags, &surroundings, &surroundings.current_dir)?;
        let variable = |name: &str| surroundings.env.get(name).cloned();
        let contracts = match variable("OH_PERSISTENCE_DIR").filter(|path| !path.is_empty()) {
            Some(path) => Some(path),
            None => Config::conversations_path(variable)?,
        };
        if settings.data_dir.source == Source::Default
            && let Some(data_dir) = contracts
        {
            settings.data_dir.value = surroundings.current_dir.join(data_dir);
        }
        if let Some(data_dir) = init.and_then(Init::data_dir) {
            settings.data_dir.value = surroundings.current_dir.join(data_dir);
        }
        Ok((settings, surroundings))
    }

    /// How to serve.
    fn set_up(&self, init: Option<&Init>) -> anyhow::Result<(Settings, Config)> {
        let (settings, surroundings) = self.settings(init)?;
        let variable = |name: &str| surroundings.env.get(name).cloned().or_else(|| built_from(name));
        let data_dir = settings.data_dir.value.clone();
        let mut config = Config {
            address: self.address,
            port: self.args.port,
            ca_file: settings.ca_file.value.clone(),
            ..Config::from_variables(variable, data_dir, surroundings.current_dir.clone())?
        };
        config.webhooks.extend(settings.webhooks.iter().cloned());
        if let Some(sign_in) = settings.sign_in.clone() {
            config.sign_in = Some(sign_in.with_secret(variable)?);
        }
        Ok((settings, config))
    }

    async fn begin(
        &self,
        listener: &Arc<TcpListener>,
        settings: Settings,
        config: Config,
    ) -> anyhow::Result<Running> {
        let store = compose::open_store(&settings)?;
        let parts = Arc::new(Parts::new(settings, &self.surroundings)?);
        let composition = Arc::clone(&parts) as _;
        let server = Server::on(Arc::clone(listener), config, store, composition).await?;
        Ok(Running { server, parts })
    }
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

fn announce_waiting(listener: &TcpListener) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "deft: waiting for POST http://{}/api/init",
        listener.local_addr()?
    )?;
    out.flush()
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
