//! Workspaces that other servers keep, and what stands behind the question mark of their names.

use anyhow::{Context, bail};
use deft_remote::{AgentServer, Host, RemoteWorkspace, RuntimeApi, SandboxSpec, Way};
use deft_types::ConversationId;
use url::Url;

use crate::settings::Settings;

/// Where the files are in a hosted sandbox, unless its name says otherwise.
const IN_SANDBOX: &str = "/workspace";

/// What a name says.
pub(super) struct Named {
    /// The address alone.
    url: Url,
    directory: String,
    way: Way,
    sandbox: Option<SandboxSpec>,
}

/// Reads a name, or says what is wrong with it.
pub(super) fn checked(name: &Url) -> anyhow::Result<Named> {
    if name.password().is_some() || !name.username().is_empty() {
        bail!(
            "a key does not belong into the name of a workspace, which is kept and shown; set DEFT_REMOTE_KEY"
        );
    }
    let (mut directory, mut way, mut image) = (None, Way::Best, None);
    let (mut command, mut runtime_class, mut resource_factor) = (None, None, 1);
    for (key, value) in name.query_pairs() {
        match key.as_ref() {
            "dir" => directory = Some(value.into_owned()),
            "via" if value == "commands" => way = Way::Commands,
            "sandbox" => image = Some(value.into_owned()),
            "command" => command = Some(value.into_owned()),
            "class" => runtime_class = Some(value.into_owned()),
            "factor" => {
                let factor = value.parse().ok().filter(|factor| [1, 2, 4, 8].contains(factor));
                resource_factor = factor.context("`factor` of a remote workspace must be 1, 2, 4 or 8")?;
            }
            other => bail!(
                "a remote workspace has no option `{other}`; there are dir and via=commands, and for hosted sandboxes \
                 sandbox=IMAGE, command, class and factor"
            ),
        }
    }
    if directory.is_none() && image.is_some() {
        directory = Some(IN_SANDBOX.to_owned());
    }
    let mut url = name.clone();
    url.set_query(None);
    Ok(Named {
        url,
        directory: directory.context("name the directory on the server: remote:URL?dir=/path")?,
        way,
        sandbox: image.map(|image| SandboxSpec {
            image,
            command,
            runtime_class,
            resource_factor,
        }),
    })
}

pub(super) fn open(name: &Url, settings: &Settings, id: ConversationId) -> anyhow::Result<RemoteWorkspace> {
    let named = checked(name)?;
    let key = settings.remote_key.value.clone();
    let ca_file = settings.ca_file.value.as_deref();
    let host = match named.sandbox {
        Some(spec) => Host::Sandbox(RuntimeApi::new(named.url, key, ca_file)?, spec),
        None => Host::Server(AgentServer::new(named.url, key, ca_file)?),
    };
    Ok(RemoteWorkspace {
        host,
        way: named.way,
        directory: named.directory,
        program: super::OWN_PROGRAM.into(),
        conversation: id,
        terms: super::terms(settings),
    })
}
