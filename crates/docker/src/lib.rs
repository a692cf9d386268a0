//! Containers as workspaces, through the API of Docker or Podman.
//!
//! The executor is this program, mounted or copied into a container of any image, where it is the first process;
//! we talk to it over the streams of an exec, so no port is published and no network is needed. This crate knows
//! nothing of agents, and no command-line client. Begin reading at [`DockerWorkspace`]; [`Docker`] is the engine
//! behind its socket, `api.rs` what is said over it, `build.rs` makes images.

mod api;
mod archive;
mod attached;
mod build;
mod built;
mod container;
mod engine;
mod error;
mod image;
mod plugin;
mod report;
mod workspace;

pub use build::{ImageNews, Layers};
pub use built::{BuiltImage, Prune};
pub use container::{Delivery, Files, Gpus, Limits, Mount, Network, Options, Published};
pub use engine::{Container, Docker};
pub use error::DockerError;
pub use image::{PullProgress, PullSize};
pub use plugin::{Plugin, PluginPackages, Service};
pub use workspace::DockerWorkspace;
