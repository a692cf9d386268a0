//! How a container is made and furnished.

use std::os::unix::fs::MetadataExt;

use hyper::Method;
use serde_json::json;

use super::{DockerWorkspace, OUR_VERSION};
use crate::api::Ask;
use crate::archive::{Archive, Owner, ROOT};
use crate::build::ImageNews;
use crate::container::{Delivery, Files, HOME, OURS, PRIVATE, PROGRAM, Spec, WORKSPACE};
use crate::engine::{CONVERSATION, Container, OWNER, VERSION};
use crate::error::DockerError;

impl DockerWorkspace {
    pub(super) async fn create(&self) -> Result<Container, DockerError> {
        let told = |news| {
            if let Some(on_image) = &self.on_image {
                on_image(news);
            }
        };
        let platform = self.options.platform.as_deref();
        let image = if self.layers.is_empty() {
            self.image.clone() // pulled only if the engine lacks it
        } else {
            self.docker
                .build(&self.image, &self.layers, platform, told)
                .await?
        };
        let spec = Spec {
            image: &image,
            files: &self.files,
            program: (self.delivery == Delivery::Mount).then_some(&self.program),
            user: self.user()?,
            labels: json!({
                CONVERSATION: self.conversation, OWNER: self.owner, VERSION: OUR_VERSION,
            }),
            command: self.serve(),
            options: &self.options,
        };
        if let Files::Volume(name) = &self.files {
            self.docker.create_volume(name, &spec.labels).await?;
        }
        let body = spec.body();
        let name = self.name();
        let mut query = vec![("name", name.as_str())];
        query.extend(platform.map(|platform| ("platform", platform)));
        let create = || {
            let ask = Ask::post("create a container", "/containers/create");
            self.docker.tell(ask.query(&query).json(&body))
        };
        let created = match create().await {
            Err(DockerError::Refused { status: 404, .. }) => {
                let told = |progress| told(ImageNews::Pull(progress));
                self.docker.pull(&image, platform, told).await?;
                create().await
            }
            created => created,
        };
        match (created, self.look().await?) {
            // A conflict of names: another one of us was quicker.
            (Ok(()) | Err(DockerError::Refused { status: 409, .. }), Some(container)) => Ok(container),
            (Ok(()), None) => Err(DockerError::Broken {
                what: "create a container",
                reason: "it was removed at once".to_owned(),
            }),
            (Err(error), _) => Err(error),
        }
    }

    /// The owner of the files. In a rootless engine that is the container's first user, and a volume has no other.
    fn user(&self) -> Result<Owner, DockerError> {
        let Files::Directory(path) = &self.files else {
            return Ok(ROOT);
        };
        let is_remote = self.delivery == Delivery::Copy && !path.exists();
        if is_remote {
            return Ok(ROOT); // the engine will tell if it has no such directory
        }
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_dir);
        let metadata = metadata.ok_or_else(|| DockerError::Missing(path.clone()))?;
        if self.docker.is_rootless() {
            return Ok(ROOT);
        }
        Ok(Owner {
            user: metadata.uid(),
            group: metadata.gid(),
        })
    }

    fn serve(&self) -> Vec<String> {
        let arguments = [
            "executor",
            "serve",
            "--directory",
            &format!("/{PRIVATE}"),
            "--workspace",
            WORKSPACE,
            "--linger",
            &self.linger.as_secs().to_string(),
            "--quiet-limit",
            &self.quiet_limit.as_secs().to_string(),
        ];
        arguments.map(str::to_owned).to_vec()
    }

    /// Puts into a new container what the executor needs there. Doing so again does no harm.
    pub(super) async fn furnish(&self, id: &str) -> Result<(), DockerError> {
        let user = self.user()?;
        let mut archive = Archive::default();
        archive.directory(OURS, 0o755, ROOT);
        archive.directory(PRIVATE, 0o700, user);
        archive.directory(HOME, 0o700, user);
        if self.delivery == Delivery::Copy {
            let path = self.program.clone();
            let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
            let program = read.map_err(|error| error.to_string());
            let program = program.and_then(|read| read.map_err(|error| error.to_string()));
            let program = program.map_err(|reason| DockerError::Program {
                path: self.program.clone(),
                reason,
            })?;
            archive.file(PROGRAM, 0o755, ROOT, &program);
        }
        let put = Ask::new(
            "put files into a container",
            Method::PUT,
            format!("/containers/{id}/archive"),
        );
        let put = put.query(&[("path", "/")]);
        self.docker
            .tell(put.content("application/x-tar", archive.finish()))
            .await
    }
}
