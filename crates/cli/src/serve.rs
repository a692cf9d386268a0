//! `deft serve`: conversations over HTTP and sockets.

use std::io::{IsTerminal as _, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::Context;
use deft_engine::{Memory, Mode, Models, SubAgentKind, SubAgents};
use deft_llm::{Finding, Found, LOCAL_PATIENCE, Model, discover, usual_places};
use deft_mcp::{Login, TokenStore};
use deft_server::{
    Composition, Config, Demo, Dormant, Init, KeyOrigin, McpOutfit, McpTrial, McpTried, Offer, Packages,
    Place, Server, Worktree,
};
use deft_skills::{AgentDefinition, Skill};
use deft_store::{ConversationRecord, Store};
use deft_types::{ConversationId, ToolSpec};
use deft_workspace::WorkspaceName;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::agents;
use crate::args::Serve;
use crate::client_model;
use crate::compose;
use crate::demo;
use crate::exit::{Exit, UsageError};
use crate::mcp;
use crate::models::OLLAMA_HOST;
use crate::settings::{Settings, Source, Surroundings};
use crate::skills;
use crate::traces;
use crate::workspace::{self, Pool};
use crate::worktree;

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
                    let init_key = Some(key.clone());
                    start
                        .begin(&listener, settings, Config { init_key, ..config })
                        .await
                };
                begun.await.map_err(|error| crate::output::one_sentence(&error))
            };
            let dormant = Dormant::new(address, key.clone());
            match dormant.wait(&listener, told_to_stop(), wake).await {
                Some(running) => running,
                None => return Ok(Exit::Finished),
            }
        }
    };
    announce(&running.server).context("cannot say that the server is ready")?;
    let reload = async {
        while hang_up.recv().await.is_some() {
            match start.settings(&start.surroundings) {
                Ok(settings) => running.parts.replace(settings),
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

/// A server, and what its conversations are made of.
struct Running {
    server: Server,
    parts: Arc<Parts>,
}

impl Start {
    fn settings(&self, surroundings: &Surroundings) -> anyhow::Result<Settings> {
        Ok(Settings::load(
            &self.args.flags,
            surroundings,
            &surroundings.current_dir,
        )?)
    }

    /// How to serve, by the environment and what was said over it.
    fn set_up(&self, init: Option<&Init>) -> anyhow::Result<(Settings, Config)> {
        let mut surroundings = self.surroundings.clone();
        if let Some(init) = init {
            init.apply(&mut surroundings.env);
        }
        let mut settings = self.settings(&surroundings)?;
        let contracts = ["OH_PERSISTENCE_DIR", "OH_CONVERSATIONS_PATH"];
        let contracts = contracts.iter().find_map(|name| surroundings.env.get(*name));
        if settings.data_dir.source == Source::Default
            && let Some(data_dir) = contracts.filter(|path| !path.is_empty())
        {
            settings.data_dir.value = surroundings.current_dir.join(data_dir);
        }
        if let Some(data_dir) = init.and_then(Init::data_dir) {
            settings.data_dir.value = surroundings.current_dir.join(data_dir);
        }
        let variable = |name: &str| surroundings.env.get(name).cloned();
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
        let ollama_host = self.surroundings.env.get(OLLAMA_HOST);
        let settings = Arc::new(settings);
        let parts = Arc::new(Parts {
            pool: Pool::new(Arc::clone(&settings))?,
            settings: RwLock::new(settings),
            ollama_host: ollama_host.filter(|host| !host.is_empty()).cloned(),
            folder: self.surroundings.current_dir.clone(),
        });
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

/// The parts of conversations, made as the user's settings say.
struct Parts {
    settings: RwLock<Arc<Settings>>,
    /// Workspaces that are ready.
    pool: Option<Pool>,
    /// Where the server was started.
    folder: PathBuf,
    /// Where Ollama is, if that was said.
    ollama_host: Option<String>,
}

impl Parts {
    /// Those in force.
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on others count, for whatever is opened.
    fn replace(&self, mut settings: Settings) {
        settings.data_dir = self.settings().data_dir.clone(); // the store is open there
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        tracing::info!("the settings were read again");
    }
}

impl Composition for Parts {
    fn model(&self, llm: &Value) -> Result<Arc<dyn Model>, String> {
        client_model::open(llm, &self.settings()).map_err(|error| crate::output::one_sentence(&error))
    }

    fn memory(&self) -> Memory {
        compose::memory(&self.settings())
            .inspect_err(|error| tracing::warn!(%error, "summaries are written by the agent's own model"))
            .unwrap_or_default()
    }

    fn title_model(&self) -> Option<Arc<dyn Model>> {
        let settings = self.settings();
        compose::named(&settings, &settings.title_model, "title_model")
            .inspect_err(|error| tracing::warn!(%error, "titles are not asked of the model that is set"))
            .ok()?
    }

    fn resolve(&self, name: WorkspaceName) -> Result<String, String> {
        if let WorkspaceName::Local(_) = name {
            // The sandbox is whoever started the server's to give up.
            return Err("This server does not give up the sandbox for a client: name a path".to_owned());
        }
        let name = workspace::resolve(name).map_err(|error| crate::output::one_sentence(&error))?;
        Ok(workspace::kept(&name))
    }

    fn ready(&self, workspace: &str) -> Option<ConversationId> {
        self.pool.as_ref()?.take(workspace)
    }

    fn own_copy<'a>(
        &'a self,
        id: ConversationId,
        root: &'a Path,
        wanted: &'a Worktree,
        beneath: Option<&'a Path>,
    ) -> BoxFuture<'a, Result<Option<PathBuf>, String>> {
        async move {
            let made = worktree::make(&self.settings(), id, root, wanted, beneath).await;
            made.map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn place(&self, id: ConversationId, root: &Path) -> Result<Place, String> {
        let (workspace, tools) = compose::place(&self.settings(), id, root)
            .map_err(|error| crate::output::one_sentence(&error))?;
        Ok(Place { workspace, tools })
    }

    fn forget(&self, id: ConversationId) -> Result<(), String> {
        let removed = crate::workspace::remove(&self.settings(), id);
        removed.map_err(|error| crate::output::one_sentence(&error))
    }

    fn remove<'a>(&'a self, id: ConversationId, root: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let settings = self.settings();
            let removed = async {
                worktree::remove(&settings, id).await?;
                workspace::unused::remove(&root.display().to_string(), &settings, id).await
            };
            removed.await.map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn pause<'a>(&'a self, id: ConversationId, root: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let settings = self.settings();
            let paused = async {
                worktree::keep(&settings, id).await?;
                workspace::unused::pause(&root.display().to_string(), &settings, id).await
            };
            paused.await.map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn collect_orphans<'a>(&'a self, store: &'a dyn Store) -> BoxFuture<'a, Result<Vec<String>, String>> {
        async move {
            let settings = self.settings();
            let collected = async {
                let mut removed = worktree::collect(&settings, store).await?;
                removed.extend(workspace::unused::collect(&settings, store).await?);
                anyhow::Ok(removed)
            };
            collected
                .await
                .map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn place_to_plan(&self, id: ConversationId, root: &Path) -> Result<Place, String> {
        let (workspace, tools) = compose::place_in(Mode::Plan, &self.settings(), id, root)
            .map_err(|error| crate::output::one_sentence(&error))?;
        Ok(Place { workspace, tools })
    }

    fn models(&self) -> Option<Arc<dyn Models>> {
        Some(compose::named_models(&self.settings()))
    }

    fn agents(
        &self,
        store: &Arc<dyn Store>,
        parent: &ConversationRecord,
        llm: &Value,
        tools: &[ToolSpec],
        servers: &McpOutfit,
    ) -> Option<Arc<dyn SubAgents>> {
        Some(agents::Helpers::of_client(
            &self.settings(),
            store,
            parent,
            llm,
            tools,
            servers,
        ))
    }

    fn tools(&self) -> Vec<ToolSpec> {
        compose::tools_of_workspaces(&self.settings()).unwrap_or_default()
    }

    fn skills(&self) -> Vec<Skill> {
        skills::of_user()
    }

    fn built_in_agents(&self) -> Vec<SubAgentKind> {
        agents::built_in()
    }

    fn users_agents(&self) -> Vec<AgentDefinition> {
        agents::of_user()
    }

    fn packages(&self) -> Option<Arc<dyn Packages>> {
        let surroundings = Surroundings::of_this_process().ok()?;
        Some(Arc::new(skills::installed(&surroundings)?))
    }

    fn try_mcp<'a>(
        &'a self,
        root: &'a Path,
        trial: McpTrial<'a>,
    ) -> BoxFuture<'a, Result<Option<McpTried>, String>> {
        async move {
            let tried = mcp::trial::one(&self.settings(), root, trial).await;
            tried.map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn ca_file(&self) -> Option<PathBuf> {
        self.settings().ca_file.value.clone()
    }

    fn login_mcp<'a>(
        &'a self,
        servers: &'a Value,
        redirect: &'a str,
        tokens: Arc<dyn TokenStore>,
    ) -> BoxFuture<'a, Result<Login, String>> {
        async move {
            let begun = mcp::trial::login(&self.settings(), servers, redirect, tokens).await;
            begun.map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn mcp(
        &self,
        place: (ConversationId, &Path),
        servers: &Value,
        variable: &dyn Fn(&str) -> Option<String>,
        tokens: Arc<dyn TokenStore>,
    ) -> Result<McpOutfit, String> {
        let named = compose::servers_of_client(&self.settings(), place, servers, variable, tokens);
        named.map_err(|error| crate::output::one_sentence(&error))
    }

    fn offer(&self) -> Offer {
        let settings = self.settings();
        Offer {
            model: settings.model.value.clone(),
            models: settings.models.keys().cloned().collect(),
            folder: self.folder.display().to_string(),
        }
    }

    fn check<'a>(&'a self, llm: &'a Value) -> BoxFuture<'a, Result<Vec<Finding>, String>> {
        async move {
            let checked = client_model::check(llm, &self.settings()).await;
            checked.map_err(|error| crate::output::one_sentence(&error))
        }
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
