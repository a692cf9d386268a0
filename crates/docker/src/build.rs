//! Images that are made of another one: packages, plugins and a setup script, each a level with a tag of its own.
//!
//! A tag has the hash of everything that goes into its level and of the level below; at the bottom is the identity of
//! the base image, not its name. So an image that is there is the right one, and a change rebuilds from its level up.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde_json::json;

use crate::api::Ask;
use crate::archive::{Archive, ROOT};
use crate::engine::Docker;
use crate::error::DockerError;
use crate::image::PullProgress;
use crate::plugin::Plugin;
use crate::report::Report;

mod level;

use self::level::Level;

/// The repository of all images that we make.
pub(crate) const REPOSITORY: &str = "localhost/deft-image";
/// What the image below a level has in bytes.
pub(crate) const BELOW: &str = "deft.image.below";
/// What an image has, for people.
pub(crate) const CONTENT: &str = "deft.image.content";
/// Where the files of a build are in the image.
const PLACE: &str = "/.deft-image";
/// How long a build may be silent: a package may be compiled.
const BUILD_SILENCE: Duration = Duration::from_secs(20 * 60);
/// So much of the log is kept for when a build fails.
const MAX_LOG_BYTES: usize = 2000;
/// A longer setup script is refused.
const MAX_SETUP_BYTES: u64 = 1024 * 1024;

/// What an image is to have beside what its base has.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// Packages of its distribution.
    pub packages: Vec<String>,
    /// Plugins, in this order.
    pub plugins: Vec<Plugin>,
    /// A script for `sh`, run as the first user when everything else is there.
    pub setup: Option<PathBuf>,
}

impl Layers {
    /// Whether the base image is enough.
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.plugins.is_empty() && self.setup.is_none()
    }
}

/// What is told while an image is made ready.
#[derive(Clone, Debug)]
pub enum ImageNews {
    /// How far the pull of the base image is.
    Pull(PullProgress),
    /// A line of a build's log.
    Build(String),
}

/// An image as the engine knows it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    id: String,
    #[serde(default)]
    size: u64,
}

impl Docker {
    /// The image that has these layers on its base: built as far as it is not there, and its name.
    pub async fn build(
        &self,
        base: &str,
        layers: &Layers,
        platform: Option<&str>,
        told: impl Fn(ImageNews),
    ) -> Result<String, DockerError> {
        let levels = level::levels(layers)?;
        let mut bottom = self.inspect_image(base).await?;
        if bottom.is_none() {
            let told = |progress| told(ImageNews::Pull(progress));
            self.pull(base, platform, told).await?;
            bottom = self.inspect_image(base).await?;
        }
        let bottom = bottom.ok_or_else(removed)?;
        let mut key = hash(&(&bottom.id, platform));
        let mut tagged = Vec::new();
        for level in &levels {
            key = hash(&(&key, &level.runs, &level.files));
            tagged.push((format!("{REPOSITORY}:{}-{key}", level.name), level));
        }
        // From the top down to what is there, and up again.
        let (mut below, mut missing) = (bottom, 0);
        for (index, (tag, _)) in tagged.iter().enumerate().rev() {
            if let Some(found) = self.inspect_image(tag).await? {
                (below, missing) = (found, index + 1);
                break;
            }
        }
        for (tag, level) in &tagged[missing..] {
            self.build_level(tag, level, &below, (base, platform), &told)
                .await?;
            below = self.inspect_image(tag).await?.ok_or_else(removed)?;
        }
        Ok(tagged.pop().map_or_else(|| base.to_owned(), |(tag, _)| tag))
    }

    async fn build_level(
        &self,
        tag: &str,
        level: &Level,
        below: &Inspected,
        (base, platform): (&str, Option<&str>),
        told: &impl Fn(ImageNews),
    ) -> Result<(), DockerError> {
        #[derive(Deserialize)]
        struct Line {
            #[serde(default)]
            stream: String,
            error: Option<String>,
        }
        let labels = json!({
            BELOW: below.size.to_string(),
            CONTENT: format!("{base} + {}", level.content),
        });
        let labels = labels.to_string();
        // No layers of its own are kept: a level is one, or it is not there.
        let mut query = vec![("t", tag), ("labels", &labels), ("rm", "1"), ("forcerm", "1")];
        query.extend(platform.map(|platform| ("platform", platform)));
        let build = Ask::post("build an image", "/build").query(&query);
        let build = build.content("application/x-tar", context(level, &below.id));
        let mut report = Report::new(self.stream(build).await?);
        let mut log = String::new();
        while let Some(line) = report.next::<Line>(BUILD_SILENCE).await? {
            if let Some(message) = line.error {
                let full = DockerError::full(&format!("{message} {log}"));
                return Err(full.unwrap_or(DockerError::Build {
                    content: level.content.clone(),
                    message,
                    log: log.trim().to_owned(),
                }));
            }
            log.push_str(&line.stream);
            let surplus = log.len().saturating_sub(MAX_LOG_BYTES);
            log.drain(..log.ceil_char_boundary(surplus));
            for line in line.stream.lines().filter(|line| !line.trim().is_empty()) {
                told(ImageNews::Build(line.to_owned()));
            }
        }
        Ok(())
    }

    /// Whether an image is here.
    pub async fn has_image(&self, name: &str) -> Result<bool, DockerError> {
        Ok(self.inspect_image(name).await?.is_some())
    }

    async fn inspect_image(&self, name: &str) -> Result<Option<Inspected>, DockerError> {
        let found = self
            .ask(Ask::get("look at an image", format!("/images/{name}/json")))
            .await;
        match found {
            Err(DockerError::Refused { status: 404, .. }) => Ok(None),
            found => found.map(Some),
        }
    }
}

/// The files of a build, as the engine takes them.
fn context(level: &Level, below: &str) -> Bytes {
    // As JSON, nothing in them is read by another shell.
    let runs = level.runs.iter().map(|run| format!("RUN {}\n", json!(run)));
    let runs: String = runs.collect();
    let dockerfile = format!("FROM {below}\nUSER 0\nCOPY . {PLACE}/\n{runs}");
    let mut archive = Archive::default();
    archive.file("Dockerfile", 0o644, ROOT, dockerfile.as_bytes());
    for (name, content) in &level.files {
        archive.file(name, 0o644, ROOT, content.as_bytes());
    }
    archive.finish()
}

/// Somebody else was at work.
fn removed() -> DockerError {
    DockerError::Broken {
        what: "keep an image",
        reason: "it was removed at once".to_owned(),
    }
}

/// A short text that is another one for other content.
fn hash(content: &impl serde::Serialize) -> String {
    let bytes = json!(content).to_string();
    let digest = digest(&SHA256, bytes.as_bytes());
    let half = digest.as_ref().iter().take(16);
    half.map(|byte| format!("{byte:02x}")).collect()
}
