//! Workspaces in pods, and what stands behind the question mark of their names.

use std::time::Duration;

use anyhow::{Context, bail};
use deft_k8s::{Cluster, Delivery, Network, Options, PodWorkspace, Toleration};
use deft_types::ConversationId;
use deft_workspace::Image;
use ring::digest::{SHA256, digest};

use crate::settings::Settings;

/// What a name says beside the image.
#[derive(Default)]
pub(super) struct Named {
    namespace: Option<String>,
    context: Option<String>,
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
            "namespace" => named.namespace = Some(text()),
            "context" => named.context = Some(text()),
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
                 request_memory, request_cpu, storage, class, claim, node, tolerate, pull, pull_secret, user and ttl"
            ),
        }
    }
    Ok(named)
}

pub(super) fn open(image: &Image, settings: &Settings, id: ConversationId) -> anyhow::Result<PodWorkspace> {
    let named = checked(image)?;
    let cluster = Cluster::find(|name| std::env::var(name).ok(), named.context.as_deref())?;
    Ok(PodWorkspace {
        cluster: match &named.namespace {
            Some(namespace) => cluster.in_namespace(namespace),
            None => cluster,
        },
        program: std::env::current_exe()?,
        delivery: named.delivery,
        conversation: id,
        owner: owner(settings),
        image: image.image.clone(),
        options: named.options,
        linger: settings.executor_linger.value,
        quiet_limit: settings.terminal_no_change_timeout.value,
    })
}

/// This installation, as a label can say it: always the same for one data directory.
fn owner(settings: &Settings) -> String {
    let place = settings.data_dir.value.as_os_str().as_encoded_bytes();
    let digest = digest(&SHA256, place);
    digest
        .as_ref()
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
