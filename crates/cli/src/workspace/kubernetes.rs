//! Workspaces in pods, and what stands behind the question mark of their names.

use std::time::Duration;

use anyhow::{Context, bail};
use deft_k8s::{Cluster, Delivery, K8sError, Network, Options, PodWorkspace, Toleration};
use deft_types::ConversationId;
use deft_workspace::Image;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::settings::Settings;

/// Where it is kept which clusters were used, in the data directory.
const PLACES: &str = "clusters.json";

/// What a name says beside the image.
#[derive(Default)]
pub(super) struct Named {
    place: Place,
    delivery: Delivery,
    options: Options,
}

/// Reads a name, or says what is wrong with it.
pub(super) fn checked(image: &Image) -> anyhow::Result<Named> {
    let mut named = Named::default();
    let options = &mut named.options;
    for (key, value) in &image.options {
        let text = || value.clone();
        let number = || {
            let number = value.parse::<u32>();
            number.with_context(|| format!("`{key}` of the pod must be a whole number, not {value:?}"))
        };
        match key.as_str() {
            "namespace" => named.place.namespace = Some(text()),
            "context" => named.place.context = Some(text()),
            "program" => named.delivery = Delivery::Image(text()),
            "network" => {
                options.network = match value.as_str() {
                    "none" => Network::None,
                    "all" => Network::All,
                    other => bail!("`network` of the pod must be none or all, not {other:?}"),
                }
            }
            "memory" => options.memory = text(),
            "cpu" => options.cpu = Some(text()),
            "request_memory" => options.request_memory = text(),
            "request_cpu" => options.request_cpu = text(),
            "storage" => options.storage = text(),
            "class" => options.storage_class = Some(text()),
            "claim" => options.claim = Some(text()),
            "pull_secret" => options.pull_secret = Some(text()),
            "pull" => options.pull_policy = Some(text()),
            "user" => options.user = number()?,
            "ttl" => options.lifetime = Duration::from_secs(number()?.into()),
            "env" => {
                let variable = value.split_once('=');
                let (name, value) = variable.context("write `env` of the pod as env=NAME=VALUE")?;
                options.env.insert(name.to_owned(), value.to_owned());
            }
            "node" => {
                let mark = value.split_once('=');
                let (key, value) = mark.context("write `node` of the pod as node=LABEL=VALUE")?;
                options.node_selector.insert(key.to_owned(), value.to_owned());
            }
            "tolerate" => {
                let (key, value) = match value.split_once('=') {
                    Some((key, value)) => (key, Some(value.to_owned())),
                    None => (value.as_str(), None),
                };
                options.tolerations.push(Toleration {
                    key: key.to_owned(),
                    value,
                });
            }
            other => bail!(
                "a pod has no option `{other}`; there are namespace, context, program, network, memory, cpu, \
                 request_memory, request_cpu, storage, class, claim, env, node, tolerate, pull, pull_secret, user and \
                 ttl"
            ),
        }
    }
    Ok(named)
}

pub(super) fn open(image: &Image, settings: &Settings, id: ConversationId) -> anyhow::Result<PodWorkspace> {
    let named = checked(image)?;
    Ok(PodWorkspace {
        cluster: named.place.cluster()?,
        program: super::OWN_PROGRAM.into(),
        delivery: named.delivery,
        conversation: id,
        owner: owner(settings),
        image: image.image.clone(),
        options: named.options,
        terms: super::terms(settings),
    })
}

/// Where pods are made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
struct Place {
    context: Option<String>,
    namespace: Option<String>,
}

impl Place {
    fn cluster(&self) -> Result<Cluster, K8sError> {
        let cluster = Cluster::find(|name| std::env::var(name).ok(), self.context.as_deref())?;
        Ok(match &self.namespace {
            Some(namespace) => cluster.in_namespace(namespace),
            None => cluster,
        })
    }
}

/// Notes where a pod will be made: deleted conversations do not tell any more.
pub(super) fn remember(image: &Image, settings: &Settings) -> anyhow::Result<()> {
    let place = checked(image)?.place;
    let mut places = places(settings)?;
    if places.contains(&place) {
        return Ok(());
    }
    places.push(place);
    let path = settings.data_dir.value.join(PLACES);
    let written = std::fs::write(&path, serde_json::to_vec(&places)?);
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// The clusters in which pods were made.
pub(super) fn used(settings: &Settings) -> anyhow::Result<Vec<Cluster>> {
    let places = places(settings)?;
    let clusters = places.iter().map(|place| Ok(place.cluster()?));
    clusters.collect()
}

fn places(settings: &Settings) -> anyhow::Result<Vec<Place>> {
    let path = settings.data_dir.value.join(PLACES);
    match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        // A broken one is written anew with the next pod.
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
    }
}

/// This installation, as a label can say it: always the same for one data directory.
pub(super) fn owner(settings: &Settings) -> String {
    let place = settings.data_dir.value.as_os_str().as_encoded_bytes();
    let digest = digest(&SHA256, place);
    digest
        .as_ref()
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
