//! Whether a new container is what was asked for: some engines pass over what they do not know.

use serde_json::Value;

use super::DockerWorkspace;
use crate::api::Ask;
use crate::container::Gpus;
use crate::error::DockerError;

impl DockerWorkspace {
    /// Removes a container that is not.
    pub(super) async fn check(&self, id: &str) -> Result<(), DockerError> {
        let Some(lacking) = self.lacking(id).await? else {
            return Ok(());
        };
        self.docker.remove(id).await?;
        Err(DockerError::NotGiven(lacking))
    }

    async fn lacking(&self, id: &str) -> Result<Option<String>, DockerError> {
        let platform = self.options.platform.as_deref();
        if self.options.gpus == Gpus::None && platform.is_none() {
            return Ok(None);
        }
        let describe = Ask::get("describe a container", format!("/containers/{id}/json"));
        let made: Value = self.docker.ask(describe).await?;
        let devices = made["HostConfig"]["DeviceRequests"].as_array();
        if self.options.gpus == Gpus::All && devices.is_none_or(Vec::is_empty) {
            return Ok(Some("it has no graphics processors (`gpus=all`)".to_owned()));
        }
        let Some(platform) = platform else {
            return Ok(None);
        };
        let image = made["Image"].as_str().unwrap_or(&self.image);
        let describe = Ask::get("describe an image", format!("/images/{image}/json"));
        let image: Value = self.docker.ask(describe).await?;
        let part = |name: &str| image[name].as_str().unwrap_or_default().to_owned();
        let theirs = format!("{}/{}", part("Os"), part("Architecture"));
        let is_meant = platform == theirs || platform.starts_with(&format!("{theirs}/")); // with a variant
        Ok((!is_meant).then(|| format!("its image is for {theirs}, not for {platform} (`platform`)")))
    }
}
