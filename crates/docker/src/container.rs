//! What a container may do and have, and how that is said to the engine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use deft_workspace::Kept;
use serde_json::{Map, Value, json};

use crate::archive::Owner;

/// Where the workspace is in the container.
pub(crate) const WORKSPACE: &str = "/workspace";
/// Our things in the container, without the first slash.
pub(crate) const OURS: &str = ".deft";
/// This program.
pub(crate) const PROGRAM: &str = ".deft/deft";
/// The executor's socket and files.
pub(crate) const PRIVATE: &str = ".deft/private";
/// The home of a user that the image does not know.
pub(crate) const HOME: &str = ".deft/home";

/// The files to work on.
#[derive(Clone, Debug)]
pub enum Files {
    /// A directory of the engine's machine. The container runs as its owner, so what it makes is its owner's.
    Directory(PathBuf),
    /// A volume of the engine that the user has named, made if it is missing. It stays.
    Volume(String),
    /// One that is made for the conversation and removed with it.
    OwnVolume(String),
}

/// How this program gets into a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// Its file is mounted, read-only: the engine is on this machine.
    #[default]
    Mount,
    /// It is sent to the engine, which is on another machine. The owner of a directory there is not known here, so
    /// the container then runs as its first user.
    Copy,
}

/// What a container can reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    #[default]
    None,
    /// What the engine gives to a container by default.
    Bridge,
    /// A network that was made before, by its name.
    Named(String),
}

/// Whether a container sees the machine's graphics processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gpus {
    /// None of them.
    #[default]
    None,
    /// All of them.
    All,
}

/// How much a container may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Memory and swap, together.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Thousandths of a processor; all there are without.
    pub milli_cpus: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 4 << 30,
            processes: 4096,
            milli_cpus: None,
        }
    }
}

/// Something else to mount.
#[derive(Clone, Debug)]
pub struct Mount {
    /// A directory or file of the engine's machine.
    pub source: PathBuf,
    /// Where it is in the container.
    pub target: String,
    /// Whether it must stay as it is.
    pub read_only: bool,
}

/// A port of the container that this machine's own programs can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its number on this machine, at the loopback address alone.
    pub here: u16,
    /// Its number in the container.
    pub there: u16,
}

/// What differs from one container to another.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The variables that tools see beside the image's own. Nothing of our environment is passed on by itself, and
    /// everybody who may use the engine can read these: they are no place for secrets.
    pub env: BTreeMap<String, String>,
    /// What it can reach.
    pub network: Network,
    /// How much it may use.
    pub limits: Limits,
    /// What else is mounted.
    pub mounts: Vec<Mount>,
    /// Which of an image's platforms to use, as in `linux/amd64`.
    pub platform: Option<String>,
    /// Whether it sees graphics processors.
    pub gpus: Gpus,
    /// Which ports are published: none unless somebody asks for it.
    pub ports: Vec<Published>,
}

/// All that the engine must know to make a container.
pub(crate) struct Spec<'a> {
    pub(crate) image: &'a str,
    pub(crate) files: &'a Files,
    /// What of the files' directory must stay as it is.
    pub(crate) kept: Vec<Kept>,
    /// The file to mount as our program.
    pub(crate) program: Option<&'a PathBuf>,
    pub(crate) user: Owner,
    pub(crate) labels: Value,
    /// Arguments of our program.
    pub(crate) command: Vec<String>,
    pub(crate) options: &'a Options,
}

impl Spec<'_> {
    /// The body of the request that makes it.
    pub(crate) fn body(&self) -> Value {
        let Limits {
            memory_bytes,
            processes,
            milli_cpus,
        } = self.options.limits;
        let home = (self.user.user != 0).then(|| format!("HOME=/{HOME}"));
        let env = self
            .options
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let gpus = match self.options.gpus {
            Gpus::None => json!([]),
            Gpus::All => json!([{"Count": -1, "Capabilities": [["gpu"]]}]),
        };
        let port = |port: &Published| format!("{}/tcp", port.there);
        let ports = &self.options.ports;
        let exposed: Map<_, _> = ports.iter().map(|one| (port(one), json!({}))).collect();
        let bindings = ports.iter().map(|one| {
            let binding = json!([{"HostIp": "127.0.0.1", "HostPort": one.here.to_string()}]);
            (port(one), binding)
        });
        json!({
            "Image": self.image,
            "ExposedPorts": exposed,
            "User": format!("{}:{}", self.user.user, self.user.group),
            "WorkingDir": WORKSPACE,
            "Entrypoint": [format!("/{PROGRAM}")],
            "Cmd": self.arguments(),
            "Env": home.into_iter().chain(env).collect::<Vec<_>>(),
            "Labels": self.labels,
            "Healthcheck": {"Test": ["NONE"]}, // the image's is for the image's own program
            "HostConfig": {
                "Mounts": self.mounts(),
                "CapDrop": ["ALL"],
                "SecurityOpt": ["no-new-privileges"],
                "NetworkMode": match &self.options.network {
                    Network::None => "none",
                    Network::Bridge => "bridge",
                    Network::Named(name) => name,
                },
                "Memory": memory_bytes,
                "MemorySwap": memory_bytes,
                "PidsLimit": processes,
                "NanoCpus": milli_cpus.map_or(0, |milli| u64::from(milli) * 1_000_000),
                "DeviceRequests": gpus,
                "PortBindings": bindings.collect::<Map<_, _>>(),
            },
        })
    }

    /// What is kept, and where it is in the container.
    fn kept(&self) -> impl Iterator<Item = (&Kept, String)> {
        self.kept.iter().filter_map(|kept| {
            let Files::Directory(root) = self.files else {
                return None; // nobody outside obeys what is on a volume
            };
            let target = Path::new(WORKSPACE).join(kept.path.strip_prefix(root).ok()?);
            Some((kept, target.display().to_string()))
        })
    }

    /// Those of our program, which looks whether what is kept is what was mounted.
    fn arguments(&self) -> Vec<String> {
        let kept = self.kept().filter(|(kept, _)| kept.is_of_its_place);
        let kept = kept.flat_map(|(_, target)| ["--kept".to_owned(), target]);
        self.command.iter().cloned().chain(kept).collect()
    }

    fn mounts(&self) -> Vec<Value> {
        let bind = |source: &PathBuf, target: &str, read_only: bool| json!({"Type": "bind", "Source": source, "Target": target, "ReadOnly": read_only});
        let files = match self.files {
            Files::Directory(path) => bind(path, WORKSPACE, false),
            Files::Volume(name) | Files::OwnVolume(name) => {
                json!({"Type": "volume", "Source": name, "Target": WORKSPACE})
            }
        };
        let kept = self.kept();
        let kept = kept.map(|(kept, target)| bind(&kept.path, &target, kept.read_only));
        let program = self.program.map(|path| bind(path, &format!("/{PROGRAM}"), true));
        let others = self.options.mounts.iter();
        let others = others.map(|mount| bind(&mount.source, &mount.target, mount.read_only));
        [files]
            .into_iter()
            .chain(kept)
            .chain(program)
            .chain(others)
            .collect()
    }
}
