//! The images that we have made: which there are, and which may go.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use hyper::Method;
use serde::Deserialize;
use serde_json::json;

use crate::api::Ask;
use crate::build::{BELOW, CONTENT, REPOSITORY};
use crate::engine::Docker;
use crate::error::DockerError;

/// An image that we have made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltImage {
    /// Its name.
    pub name: String,
    /// What it has, for people.
    pub content: String,
    /// When it was made.
    pub created: SystemTime,
    /// What it takes beside the image it stands on.
    pub bytes: u64,
}

/// Which images shall go.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prune {
    /// Only those that are older.
    pub older_than: Duration,
    /// Only so many of the oldest that the others take no more.
    pub keep_bytes: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    created: u64,
    #[serde(default)]
    size: u64,
}

impl Docker {
    /// All images that we have made, newest first; those that stand on others before them.
    pub async fn built_images(&self) -> Result<Vec<BuiltImage>, DockerError> {
        let filters = json!({ "reference": [REPOSITORY] }).to_string();
        let list = Ask::get("list its images", "/images/json").query(&[("filters", &filters)]);
        let listed: Vec<Listed> = self.ask(list).await?;
        let mut images: Vec<_> = listed.into_iter().flat_map(Listed::built).collect();
        images.sort_by(|a, b| (b.created, &b.name).cmp(&(a.created, &a.name))); // setup, plugins, packages
        Ok(images)
    }

    /// Removes images that we have made. One that a container uses stays, and so does what it stands on, without a name.
    pub async fn prune_images(&self, prune: Prune, now: SystemTime) -> Result<Vec<BuiltImage>, DockerError> {
        let mut removed = Vec::new();
        for image in chosen(self.built_images().await?, prune, now) {
            let path = format!("/images/{}", image.name);
            let remove = Ask::new("remove an image", Method::DELETE, path);
            match self.tell(remove).await {
                Ok(()) => removed.push(image),
                Err(DockerError::Refused {
                    status: 404 | 409, ..
                }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(removed)
    }
}

/// Which of the images shall go, of which the newest is first.
fn chosen(images: Vec<BuiltImage>, prune: Prune, now: SystemTime) -> Vec<BuiltImage> {
    let mut total = 0_u64;
    let goes = |image: &BuiltImage| {
        total = total.saturating_add(image.bytes);
        let age = now.duration_since(image.created).unwrap_or_default();
        age >= prune.older_than && prune.keep_bytes.is_none_or(|limit| total > limit)
    };
    images.into_iter().filter(goes).collect()
}

impl Listed {
    fn built(self) -> impl Iterator<Item = BuiltImage> {
        let labels = self.labels.unwrap_or_default();
        let below = labels.get(BELOW).and_then(|below| below.parse().ok());
        let bytes = self.size.saturating_sub(below.unwrap_or(0));
        let content = labels.get(CONTENT).cloned().unwrap_or_default();
        let created = SystemTime::UNIX_EPOCH + Duration::from_secs(self.created);
        let names = self.repo_tags.unwrap_or_default().into_iter();
        let ours = names.filter(|name| name.starts_with(&format!("{REPOSITORY}:")));
        ours.map(move |name| BuiltImage {
            name,
            content: content.clone(),
            created,
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_images_go_and_of_too_many_the_oldest() {
        let day = Duration::from_secs(24 * 60 * 60);
        let now = SystemTime::UNIX_EPOCH + 100 * day;
        let image = |days: u32| BuiltImage {
            name: days.to_string(),
            content: String::new(),
            created: now - days * day,
            bytes: 10,
        };
        let names = |days: u32, keep_bytes| -> Vec<String> {
            let prune = Prune {
                older_than: days * day,
                keep_bytes,
            };
            let chosen = chosen([1, 2, 3, 4].map(image).to_vec(), prune, now);
            chosen.into_iter().map(|image| image.name).collect()
        };
        assert_eq!(names(0, None), ["1", "2", "3", "4"]);
        assert_eq!(names(3, None), ["3", "4"]);
        assert_eq!(names(0, Some(20)), ["3", "4"]);
        assert_eq!(
            names(4, Some(20)),
            ["4"],
            "the young stay, however much they take"
        );
        assert_eq!(names(0, Some(100)), [""; 0]);
    }
}
