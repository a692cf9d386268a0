//! Whether a workspace could be opened: what would have to answer is asked, and nothing is started.

use anyhow::Context;
use deft_engine::Mode;
use deft_k8s::{Cluster, K8sError};
use deft_remote::Host;
use deft_types::ConversationId;
use deft_workspace::WorkspaceName;
use deft_workspace::sandbox::{Machine, Plan};
use uuid::Uuid;

use super::{elsewhere, executor_directory, kubernetes, policy, remote, resolve};
use crate::settings::Settings;

/// Asks for the workspace of a name; what answered, for people.
pub(crate) async fn reach(name: &WorkspaceName, settings: &Settings) -> anyhow::Result<String> {
    let id = ConversationId(Uuid::new_v4());
    match resolve(name.clone())? {
        WorkspaceName::Local(path) => Ok(format!("the directory {} is there", path.display())),
        WorkspaceName::Sandbox(path) => {
            Plan::new(policy(settings)?, &Machine::probe(), &path)?;
            Ok(format!(
                "the directory {} is there and can be shut in",
                path.display()
            ))
        }
        WorkspaceName::Docker(image) => {
            let container = elsewhere::docker(&image, settings, id)?;
            let answers = engine().await.context("no engine was found")??;
            let image = if container.docker.has_image(&container.image).await? {
                "the image is here"
            } else {
                "the image is not here and will be pulled"
            };
            Ok(format!("{answers}; {image}"))
        }
        WorkspaceName::Kubernetes(image) => version(&kubernetes::open(&image, settings, id)?.cluster).await,
        WorkspaceName::Ssh(place) => {
            let directory = executor_directory(&settings.data_dir.value, id, Mode::Act)?;
            let pinged = elsewhere::ssh(&place, settings, id, &directory).ping().await;
            let _ = std::fs::remove_dir_all(directory); // it was for the connection alone
            pinged?;
            Ok(format!("{} lets us in and has the directory", place.host))
        }
        WorkspaceName::Remote(url) => {
            match remote::open(&url, settings, id)?.host {
                Host::Server(server) => server.check_key().await?,
                Host::Sandbox(api, _) => drop(api.find(id).await?),
            }
            Ok("the server lets us in".to_owned())
        }
    }
}

/// Asks the container engine, if there is one.
pub(crate) async fn engine() -> Option<anyhow::Result<String>> {
    let engine = match elsewhere::engine() {
        Ok(engine) => engine,
        Err(deft_docker::DockerError::NoEngine) => return None,
        Err(error) => return Some(Err(error.into())),
    };
    let pinged = engine.ping().await;
    Some(match pinged {
        Ok(()) => Ok(format!("the engine at {} answers", engine.socket().display())),
        Err(error) => Err(error.into()),
    })
}

/// Asks the cluster, if one is set up.
pub(crate) async fn cluster() -> Option<anyhow::Result<String>> {
    match Cluster::find(|name| std::env::var(name).ok(), None) {
        Ok(cluster) => Some(version(&cluster).await),
        Err(K8sError::NoCluster) => None,
        Err(error) => Some(Err(error.into())),
    }
}

async fn version(cluster: &Cluster) -> anyhow::Result<String> {
    let version = cluster.version().await?;
    cluster.check_rights().await?;
    let (server, namespace) = (cluster.server(), cluster.namespace());
    Ok(format!(
        "Kubernetes {version} at {server} answers; the namespace is {namespace}"
    ))
}
