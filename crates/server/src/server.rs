//! Listens, hands requests to the routes, and stops in good order.

mod upkeep;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use deft_store::Store;
use deft_types::Secret;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::upkeep::upkeep;
use crate::app::{Activity, App};
use crate::audit::Audit;
use crate::catalog::Catalog;
use crate::composition::Composition;
use crate::config::Config;
use crate::connections::{Connections, Patience};
use crate::mcp_logins::McpLogins;
use crate::metrics::Metrics;
use crate::previews::{self, PreviewNames, Previews};
use crate::router::router;
use crate::security::{Directory, Gate, Hosts, Origins};
use crate::sign_in::SignIn;
use crate::users::Users;
use crate::vault::{self, Origin, Vault, VaultError};
use crate::webhooks::Webhooks;

/// How long open requests and sockets may take to end when the server stops.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The port is taken, or not ours to use.
    #[error("cannot listen at {address}: {reason}; choose another port with --port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        reason: io::Error,
    },
    /// The same for the port of previews.
    #[error(
        "cannot listen at {address} for previews of ports: {reason}; choose another port with DEFT_PREVIEW_PORT"
    )]
    Previews {
        /// The address.
        address: SocketAddr,
        /// Why.
        reason: io::Error,
    },
    /// A key file cannot be used.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// Nobody can be told by a webhook.
    #[error("webhooks cannot be used: {0}")]
    Webhooks(String),
}

/// Where the key of a server comes from.
#[derive(Debug)]
pub enum KeyOrigin {
    /// It was configured.
    Configured,
    /// It was made by an earlier start and stands in the data directory.
    Kept(Secret<String>),
    /// It was made just now: the user has never seen it.
    Made(Secret<String>),
}

/// Listens at an address.
pub async fn listen(address: IpAddr, port: u16) -> Result<Arc<TcpListener>, ServeError> {
    let address = SocketAddr::new(address, port);
    let listener = TcpListener::bind(address).await;
    Ok(Arc::new(
        listener.map_err(|reason| ServeError::Listen { address, reason })?,
    ))
}

/// A server that listens, and does not answer yet.
pub struct Server {
    app: Arc<App>,
    listener: Arc<TcpListener>,
    previews: TcpListener,
    address: SocketAddr,
    key: KeyOrigin,
    patience: Patience,
    base_path: Option<String>,
}

impl Server {
    /// Listens as the set-up says.
    pub async fn bind(
        config: Config,
        store: Arc<dyn Store>,
        composition: Arc<dyn Composition>,
    ) -> Result<Self, ServeError> {
        let listener = listen(config.address, config.port).await?;
        Self::on(listener, config, store, composition).await
    }

    /// Without a configured key, the one in the data directory counts, which is made if it is missing.
    pub async fn on(
        listener: Arc<TcpListener>,
        config: Config,
        store: Arc<dyn Store>,
        composition: Arc<dyn Composition>,
    ) -> Result<Self, ServeError> {
        // The contract sends a configured key along, never one that we made.
        let key_for_webhooks = config.keys.first().cloned();
        let vault = Vault::open(config.vault_keys)?;
        let (keys, key) = if config.keys.is_empty() {
            let kept = vault::private_file(&config.data_dir.join("session-key"), vault::new_client_key)?;
            let origin = match kept.origin {
                Origin::Found => KeyOrigin::Kept(kept.value.clone()),
                Origin::Made => KeyOrigin::Made(kept.value.clone()),
            };
            (vec![kept.value], origin)
        } else {
            (config.keys, KeyOrigin::Configured)
        };
        let address = SocketAddr::new(config.address, config.port);
        let address = listener
            .local_addr()
            .map_err(|reason| ServeError::Listen { address, reason })?;
        let (previews, preview_port) = previews::listen(address, config.port, config.preview_port).await?;
        let names = config.preview_names.unwrap_or(PreviewNames::local(preview_port));
        let vault = Arc::new(vault);
        let everything = Catalog::new(Arc::clone(&store), Arc::clone(&vault), config.data_dir.clone());
        let webhooks = Webhooks::new(
            config.webhooks,
            key_for_webhooks.as_ref(),
            config.ca_file.clone(),
            Arc::new(everything),
        )
        .map_err(ServeError::Webhooks)?;
        webhooks.load().await;
        let directory = Arc::new(Directory::new(Arc::clone(&store)));
        directory.refresh().await; // before anybody is answered
        let sign_in = config.sign_in.map(|settings| {
            SignIn::new(
                settings,
                config.ca_file.clone(),
                Arc::clone(&store),
                Arc::clone(&vault),
            )
        });
        let users = Arc::new(Users {
            sign_in,
            mcp_logins: McpLogins::default(),
            gate: Arc::new(Gate::new(&keys, Arc::clone(&directory), config.max_wrong_keys)?),
            audit: Audit::new(Arc::clone(&store)),
            directory,
            store,
            vault,
            webhooks: Arc::new(webhooks),
            composition,
            runs: Arc::new(Semaphore::new(config.max_runs)),
            idle_limit: config.idle_limit,
            request_limit: config.request_limit,
            current_dir: config.current_dir,
            data_dir: config.data_dir,
            ca_file: config.ca_file,
            home: config.home,
            file_roots: config.file_roots,
            hosts: Arc::new(Hosts::new(config.address, config.hosts)),
            origins: Arc::new(Origins::new(
                config.origins,
                config.origin_hosts,
                config.origin_pattern,
            )),
            previews: Arc::new(Previews::new(names)?),
            build: config.build,
            init_key: config.init_key,
            metrics: Arc::new(Metrics::default()),
            sockets: TaskTracker::new(),
            tasks: TaskTracker::new(),
            abandoned: CancellationToken::new(),
            started: Instant::now(),
            activity: Arc::new(Activity::new()),
            owner: OnceLock::new(),
            homes: Mutex::default(),
        });
        Ok(Self {
            app: users.owners(),
            listener,
            previews,
            address,
            key,
            patience: config.patience,
            base_path: config.base_path,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its key comes from.
    pub fn key(&self) -> &KeyOrigin {
        &self.key
    }

    /// Answers until it is told to stop. Then what runs is paused, sockets are closed with a word, and the
    /// executors are left alone: the next server finds them. Nothing of it is left behind.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let stopping = CancellationToken::new();
        let upkeep = tokio::spawn(upkeep(Arc::clone(&self.app), stopping.clone()));
        let connections = Connections::new(router(Arc::clone(&self.app)), self.patience);
        let connections = connections.below(self.base_path.clone());
        let viewers = Connections::new(previews::router(Arc::clone(&self.app)), self.patience);
        tokio::select! {
            () = connections.accept(&self.listener) => {}
            () = viewers.accept(&self.previews) => {}
            () = stop => {}
        }
        drop((self.listener, self.previews));
        stopping.cancel();
        connections.stop();
        viewers.stop();
        let previews = &self.app.users.previews;
        previews.stopping.cancel();
        previews.tasks.close();
        let _ = upkeep.await; // it ends by itself
        let users = &self.app.users;
        let stop = async || {
            let apps = users.apps();
            let stop = apps.iter().map(async |app| {
                app.bash.stop().await;
                app.conversations.stop().await;
            });
            futures::future::join_all(stop).await;
        };
        stop().await;
        users.webhooks.stop().await;
        self.app.sockets.close();
        self.app.tasks.close();
        let ended = async || {
            self.app.sockets.wait().await;
            self.app.tasks.wait().await;
            connections.wait().await;
            viewers.wait().await;
            previews.tasks.wait().await;
        };
        if tokio::time::timeout(STOP_LIMIT, ended()).await.is_err() {
            tracing::warn!("clients that take too long are not waited for");
            users.abandoned.cancel();
            connections.abandon();
            viewers.abandon();
            ended().await;
        }
        stop().await; // what the last requests have brought into memory
        users.forget();
    }
}
