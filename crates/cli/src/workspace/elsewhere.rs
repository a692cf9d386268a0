//! Workspaces in containers and on other machines.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use deft_docker::{
    Delivery, Docker, DockerError, DockerWorkspace, Files, Gpus, Layers, Mount, Network, Options, Plugin,
    Published,
};
use deft_ssh::{SshWorkspace, Target};
use deft_types::ConversationId;
use deft_workspace::{Image, Preparation, SshPlace};

use crate::settings::Settings;

/// The option that names the directory to work on.
const DIRECTORY: &str = "dir";
/// The option that names a volume instead; without a value it is one of the conversation's own.
const VOLUME: &str = "volume";
/// The option that names a script for the image.
const SETUP: &str = "setup";
/// Where a user's own plugins are, in the data directory.
const PLUGINS: &str = "plugins";
const MEGABYTE: u64 = 1024 * 1024;

/// The same image with absolute paths: its directory is the current one unless another is named, or a volume.
pub(super) fn resolve(mut image: Image) -> anyhow::Result<Image> {
    let position = |key: &str| image.options.iter().position(|(option, _)| option == key);
    match (position(DIRECTORY), position(VOLUME)) {
        (Some(_), Some(_)) => {
            bail!("the files of a container are in a directory or on a volume: name one of them")
        }
        (None, Some(_)) => {}
        (named, None) => {
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
        }
    }
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
    let mut named = image.options.iter();
    let files = named.find_map(|(key, value)| match key.as_str() {
        DIRECTORY => Some(Files::Directory(PathBuf::from(value))),
        VOLUME if value.is_empty() => Some(Files::OwnVolume(format!("deft-{}", id.hex()))),
        VOLUME => Some(Files::Volume(value.clone())),
        _ => None,
    });
    let files = files.context("the name of a container's workspace lacks its directory")?;
    let reader = match &files {
        Files::Directory(path) => super::reader(path, settings, id),
        Files::Volume(_) | Files::OwnVolume(_) => None,
    };
    Ok(DockerWorkspace {
        docker: engine()?,
        program: own_file()?,
        delivery: Delivery::Mount,
        conversation: id,
        owner: settings.data_dir.value.display().to_string(),
        image: image.image.clone(),
        files,
        reader,
        options: options(image)?,
        layers: layers(image, &settings.data_dir.value.join(PLUGINS))?,
        terms: super::terms(settings),
        preparation: Preparation::default(),
    })
}

/// This program's file, which a container is given.
fn own_file() -> anyhow::Result<PathBuf> {
    let file = std::env::current_exe()?;
    anyhow::ensure!(
        file.exists(),
        "this program's file was replaced or removed since it began, and containers need it: start Deft again"
    );
    Ok(file)
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

/// What stands behind the question mark.
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
            DIRECTORY | VOLUME | SETUP | "packages" | "plugins" => {}
            "network" => {
                options.network = match value.as_str() {
                    "none" => Network::None,
                    "bridge" => Network::Bridge,
                    "host" => bail!(
                        "a container in this machine's own network reaches every service of it; `network` must be none, \
                         bridge, or the name of a network"
                    ),
                    other if other.starts_with("container:") => {
                        bail!("a container cannot be in the network of another one; name a network")
                    }
                    other => Network::Named(other.to_owned()),
                }
            }
            "memory" => options.limits.memory_bytes = (number()? as u64).saturating_mul(MEGABYTE),
            "pids" => options.limits.processes = number()? as u32,
            "cpus" => options.limits.milli_cpus = Some((number()? * 1000.0) as u32),
            "platform" => options.platform = Some(value.clone()),
            "gpus" if value == "all" => options.gpus = Gpus::All,
            "gpus" => bail!("`gpus` of the container must be all, not {value:?}"),
            "env" => {
                // Nothing is taken from our own environment: whoever names it may be a client of a server.
                let (name, value) = value
                    .split_once('=')
                    .context("write `env` of the container as env=NAME=VALUE")?;
                options.env.insert(name.to_owned(), value.to_owned());
            }
            "mount" => options.mounts.push(mount(value)?),
            "publish" => options.ports.push(published(value)?),
            other => bail!(
                "a container has no option `{other}`; there are dir, volume, network, memory, pids, cpus, platform, \
                 gpus, env, mount, publish, packages, plugins and setup"
            ),
        }
    }
    Ok(options)
}

/// `SOURCE:TARGET`, with `:ro` behind it where nothing may be changed.
fn mount(text: &str) -> anyhow::Result<Mount> {
    let (paths, read_only) = match text.strip_suffix(":ro") {
        Some(paths) => (paths, true),
        None => (text, false),
    };
    let paths = paths
        .split_once(':')
        .filter(|(source, target)| Path::new(source).is_absolute() && Path::new(target).is_absolute());
    let (source, target) = paths.with_context(|| {
        format!("write `mount` of the container as /SOURCE:/TARGET or /SOURCE:/TARGET:ro, not {text:?}")
    })?;
    Ok(Mount {
        source: PathBuf::from(source),
        target: target.to_owned(),
        read_only,
    })
}

/// `PORT`, or `HERE:THERE`.
fn published(text: &str) -> anyhow::Result<Published> {
    let (here, there) = text.split_once(':').unwrap_or((text, text));
    match (here.parse(), there.parse()) {
        (Ok(here), Ok(there)) => Ok(Published { here, there }),
        _ => bail!("write `publish` of the container as PORT or HERE:THERE, not {text:?}"),
    }
}

pub(super) fn ssh(
    place: &SshPlace,
    settings: &Settings,
    id: ConversationId,
    directory: &Path,
) -> SshWorkspace {
    let user = place
        .user
        .as_ref()
        .map_or_else(String::new, |user| format!("{user}@"));
    SshWorkspace {
        target: Target {
            destination: format!("{user}{}", place.host),
            port: place.port,
            config: settings.ssh_config.value.clone(),
            control_directory: directory.to_owned(),
        },
        root: place.path.display().to_string(),
        program: super::OWN_PROGRAM.into(),
        conversation: id,
        terms: super::terms(settings),
    }
}

#[cfg(test)]
mod tests {
    use deft_workspace::WorkspaceName;

    use super::*;

    fn image(options: &str) -> Image {
        match format!("docker:x?{options}").parse() {
            Ok(WorkspaceName::Docker(image)) => image,
            other => panic!("not a container: {other:?}"),
        }
    }

    #[test]
    fn what_a_container_may_have_beside_is_read_from_its_name() {
        let given = "env=A=b=c&mount=/data:/in:ro&mount=/out:/out&publish=8080&publish=1:2&gpus=all";
        let options = options(&image(given)).unwrap();
        assert_eq!(options.env["A"], "b=c");
        let mounts = options.mounts.iter();
        let mounts: Vec<_> = mounts
            .map(|mount| {
                (
                    mount.source.to_str().unwrap(),
                    mount.target.as_str(),
                    mount.read_only,
                )
            })
            .collect();
        assert_eq!(mounts, [("/data", "/in", true), ("/out", "/out", false)]);
        let ports: Vec<_> = options.ports.iter().map(|port| (port.here, port.there)).collect();
        assert_eq!(ports, [(8080, 8080), (1, 2)]);
        assert_eq!(options.gpus, Gpus::All);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_how_to_write_it() {
        for (given, words) in [
            ("env=HOME", "env=NAME=VALUE"),
            ("mount=data:/in", "/SOURCE:/TARGET"),
            ("mount=/data", "/SOURCE:/TARGET"),
            ("publish=http", "HERE:THERE"),
            ("gpus=2", "must be all"),
            ("network=host", "every service"),
            ("network=container:x", "name a network"),
            ("port=1", "no option `port`"),
        ] {
            let error = options(&image(given)).unwrap_err().to_string();
            assert!(error.contains(words), "{given}: {error}");
        }
        let both = resolve(image("dir=/tmp&volume=v")).unwrap_err().to_string();
        assert!(both.contains("name one of them"), "{both}");
        assert_eq!(resolve(image("volume=")).unwrap(), image("volume="));
    }
}
