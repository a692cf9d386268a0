//! Images that are not here yet.

use std::time::Duration;

use serde::Deserialize;

use crate::api::Ask;
use crate::engine::Docker;
use crate::error::DockerError;
use crate::report::Report;

/// How long a registry may be silent.
const PULL_SILENCE: Duration = Duration::from_secs(120);

/// What registries say of an image that they do not have, or not for us.
const UNKNOWN: &[&str] = &[
    "manifest unknown",
    "not found",
    "does not exist",
    "access denied",
    "name unknown",
];

/// How far the pull of an image is: something about one of its layers, or about all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct PullProgress {
    /// What is being done, in the engine's words.
    #[serde(default)]
    pub status: String,
    /// The layer it is done to.
    #[serde(default, rename = "id")]
    pub layer: Option<String>,
    /// How much of it is done.
    #[serde(default, rename = "progressDetail")]
    pub size: PullSize,
}

/// So many of so many, where the engine knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct PullSize {
    /// Done.
    pub current: Option<u64>,
    /// All there are.
    pub total: Option<u64>,
}

#[derive(Deserialize)]
struct Line {
    error: Option<String>,
    #[serde(flatten)]
    progress: PullProgress,
}

impl Docker {
    /// Fetches an image from its registry.
    pub(crate) async fn pull(
        &self,
        image: &str,
        platform: Option<&str>,
        told: impl Fn(PullProgress),
    ) -> Result<(), DockerError> {
        // Engines differ in the status, but hand on the registry's words.
        let failed = |message: String| {
            let image = image.to_owned();
            if let Some(full) = DockerError::full(&message) {
                return full;
            }
            if UNKNOWN.iter().any(|words| message.contains(words)) {
                DockerError::NoSuchImage { image, message }
            } else {
                DockerError::Pull { image, message }
            }
        };
        let mut query = vec![("fromImage", image)];
        if !has_tag(image) {
            query.push(("tag", "latest")); // without one all of them would come
        }
        query.extend(platform.map(|platform| ("platform", platform)));
        let pull = Ask::post("pull an image", "/images/create").query(&query);
        let answer = self.stream(pull).await.map_err(|error| match error {
            DockerError::Refused { message, .. } => failed(message),
            error => error,
        })?;
        let mut report = Report::new(answer);
        while let Some(line) = report.next::<Line>(PULL_SILENCE).await? {
            if let Some(error) = line.error {
                return Err(failed(error));
            }
            told(line.progress);
        }
        Ok(())
    }
}

/// Whether a name says which image of a repository is meant. A port of the registry is not a tag.
fn has_tag(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or(image);
    last.contains(':') || last.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_told_from_a_port() {
        for (image, tagged) in [
            ("debian", false),
            ("debian:12", true),
            ("host:5000/debian", false),
            ("host:5000/team/debian:12", true),
            ("debian@sha256:0123", true),
        ] {
            assert_eq!(has_tag(image), tagged, "{image}");
        }
    }
}
