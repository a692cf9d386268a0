//! Workspaces in containers and on other machines.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use deft_docker::{
    Delivery, Docker, DockerError, DockerWorkspace, Files, ImageNews, Layers, Network, Options, Plugin,
};
use deft_ssh::{SshWorkspace, Target};
use deft_types::ConversationId;
use deft_workspace::{Image, SshPlace};

use crate::output::one_line;
use crate::settings::Settings;

/// The option that names the directory to work on.
const DIRECTORY: &str = "dir";
/// The option that names a script for the image.
const SETUP: &str = "setup";
/// Where a user's own plugins are, in the data directory.
const PLUGINS: &str = "plugins";
const MEGABYTE: u64 = 1024 * 1024;

/// The same image with absolute paths: its directory is the current one unless another is named.
pub(super) fn resolve(mut image: Image) -> anyhow::Result<Image> {
    let named = image.options.iter().position(|(key, _)| key == DIRECTORY);
    let path = named.map_or_else(
        || PathBuf::from("."),
        |index| PathBuf::from(image.options.remove(index).1),
    );
    let path = path.canonicalize().with_context(|| {
        format!(
            "the directory {} for the container does not exist",
            path.display()
        )
    })?;
    image
        .options
        .push((DIRECTORY.to_owned(), path.display().to_string()));
    for (_, script) in image.options.iter_mut().filter(|(key, _)| key == SETUP) {
        let found = Path::new(script).canonicalize();
        let found = found.with_context(|| format!("the setup script {script} does not exist"))?;
        *script = found.display().to_string();
    }
    options(&image)?;
    Ok(image)
}

/// The engine that the environment names, or that is found.
pub(crate) fn engine() -> Result<Docker, DockerError> {
    let variable = |name: &str| std::env::var(name).ok();
    let runtime_dir = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    Docker::find(variable("DOCKER_HOST").as_deref(), runtime_dir.as_deref())
}

pub(super) fn docker(
    image: &Image,
    settings: &Settings,
    id: ConversationId,
) -> anyhow::Result<DockerWorkspace> {
    let directory = image.options.iter().find(|(key, _)| key == DIRECTORY);
    let directory = directory.context("the name of a container's workspace lacks its directory")?;
    Ok(DockerWorkspace {
        docker: engine()?,
        program: std::env::current_exe()?,
        delivery: Delivery::Mount,
        conversation: id,
        owner: settings.data_dir.value.display().to_string(),
        image: image.image.clone(),
        files: Files::Directory(PathBuf::from(&directory.1)),
        options: options(image)?,
        layers: layers(image, &settings.data_dir.value.join(PLUGINS))?,
        linger: settings.executor_linger.value,
        quiet_limit: settings.terminal_no_change_timeout.value,
        on_image: Some(Arc::new(tell)),
    })
}

/// What the image is to have beside.
fn layers(image: &Image, plugins: &Path) -> anyhow::Result<Layers> {
    let mut layers = Layers::default();
    for (key, value) in &image.options {
        let names = value.split(',').filter(|name| !name.is_empty());
        match key.as_str() {
            "packages" => layers.packages.extend(names.map(str::to_owned)),
            "plugins" => {
                let found = names.map(|name| Plugin::named(name, plugins));
                layers.plugins.extend(found.collect::<Result<Vec<_>, _>>()?);
            }
            SETUP => layers.setup = Some(PathBuf::from(value)),
            _ => {} // of the container
        }
    }
    Ok(layers)
}

/// Tells how the image is doing: a server's log, or whoever is at the terminal.
#[allow(clippy::print_stderr)] // this is the command line
fn tell(news: ImageNews) {
    let line = match news {
        // The bytes of each layer would be hundreds of lines.
        ImageNews::Pull(progress) if progress.size.total.is_some() => return,
        ImageNews::Pull(progress) => format!("{} {}", progress.layer.unwrap_or_default(), progress.status),
        ImageNews::Build(line) => line,
    };
    if tracing::dispatcher::has_been_set() {
        tracing::info!(line, "an image is made ready");
    } else {
        let over = if std::io::stderr().is_terminal() {
            "\r\x1b[K"
        } else {
            ""
        }; // what happens right now is drawn there
        anstream::eprintln!("{over}image: {}", one_line(line.trim()));
    }
}

/// What stands behind the question mark: `network`, `memory` in megabytes, `pids`, `cpus`, `platform`.
fn options(image: &Image) -> anyhow::Result<Options> {
    let mut options = Options::default();
    for (key, value) in &image.options {
        let number = || {
            let number: Option<f64> = value.parse().ok().filter(|number: &f64| *number > 0.0);
            number
                .with_context(|| format!("`{key}` of the container must be a number above 0, not {value:?}"))
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // positive, and saturating is right
        match key.as_str() {
            DIRECTORY | SETUP | "packages" | "plugins" => {}
            "network" => {
                options.network = match value.as_str() {
                    "none" => Network::None,
                    "bridge" => Network::Bridge,
                    other => Network::Named(other.to_owned()),
                }
            }
            "memory" => options.limits.memory_bytes = (number()? as u64).saturating_mul(MEGABYTE),
            "pids" => options.limits.processes = number()? as u32,
            "cpus" => options.limits.milli_cpus = Some((number()? * 1000.0) as u32),
            "platform" => options.platform = Some(value.clone()),
            other => bail!(
                "a container has no option `{other}`; there are dir, network, memory, pids, cpus, platform, packages, \
                 plugins and setup"
            ),
        }
    }
    Ok(options)
}

pub(super) fn ssh(
    place: &SshPlace,
    settings: &Settings,
    id: ConversationId,
    directory: &Path,
) -> anyhow::Result<SshWorkspace> {
    let user = place
        .user
        .as_ref()
        .map_or_else(String::new, |user| format!("{user}@"));
    Ok(SshWorkspace {
        target: Target {
            destination: format!("{user}{}", place.host),
            port: place.port,
            config: settings.ssh_config.value.clone(),
            control_directory: directory.to_owned(),
        },
        root: place.path.display().to_string(),
        program: std::env::current_exe()?,
        conversation: id,
        linger: settings.executor_linger.value,
        quiet_limit: settings.terminal_no_change_timeout.value,
    })
}
