//! How a container is made and furnished.

use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};

use deft_workspace::{Kept, keep_as_it_is};
use hyper::Method;
use serde_json::{Value, json};

use super::image_lines::ImageLines;
use super::{DockerWorkspace, OUR_VERSION};
use crate::api::Ask;
use crate::archive::{Archive, Owner, ROOT};
use crate::build::ImageNews;
use crate::container::{Delivery, Files, HOME, OURS, PRIVATE, PROGRAM, Spec, WORKSPACE};
use crate::engine::{CONVERSATION, COPIED, Container, DELIVERY, OWNER, VERSION};
use crate::error::DockerError;

/// What the engine says of an image that is here, but not for the platform that was asked for.
const OTHER_PLATFORM: &str = "does not match the specified platform";

impl DockerWorkspace {
    pub(super) async fn create(&self) -> Result<Container, DockerError> {
        let lines = Mutex::new(ImageLines::default());
        let told = |news| {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(line) = lines.line(news) {
                self.preparation.tell(line);
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
        let name = self.name();
        let mut query = vec![("name", name.as_str())];
        query.extend(platform.map(|platform| ("platform", platform)));
        let user = self.user().await?;
        let create = async |delivery: Delivery| {
            let body = self.spec(&image, delivery, user)?.body();
            let ask = Ask::post("create a container", "/containers/create");
            self.docker.tell(ask.query(&query).json(&body)).await
        };
        match &self.files {
            Files::Directory(_) => {}
            Files::Volume(name) => self.docker.create_volume(name, &json!({})).await?,
            Files::OwnVolume(name) => {
                let labels = self.labels(self.delivery);
                self.docker.create_volume(name, &labels).await?;
            }
        }
        let mut created = create(self.delivery).await;
        if let Err(DockerError::Refused {
            status: 404, message, ..
        }) = &created
        {
            let told = |progress| told(ImageNews::Pull(progress));
            let pulled = self.docker.pull(&image, platform, told).await;
            if pulled.is_err() && message.contains(OTHER_PLATFORM) {
                return Err(DockerError::OtherPlatform(message.clone()));
            }
            pulled?;
            created = create(self.delivery).await;
        }
        if self.delivery == Delivery::Mount && created.as_ref().is_err_and(|error| self.lacks_program(error))
        {
            created = create(Delivery::Copy).await; // the socket leads to an engine on another machine
        }
        match (created, self.look().await?) {
            // A conflict of names: another one of us was quicker.
            (Ok(()) | Err(DockerError::Refused { status: 409, .. }), Some(container)) => {
                self.check(&container.id).await?;
                Ok(container)
            }
            (Ok(()), None) => Err(DockerError::Broken {
                what: "create a container",
                reason: "it was removed at once".to_owned(),
            }),
            (Err(error), _) => Err(error),
        }
    }

    fn spec<'a>(&'a self, image: &'a str, delivery: Delivery, user: Owner) -> Result<Spec<'a>, DockerError> {
        Ok(Spec {
            image,
            files: &self.files,
            kept: self.kept()?,
            program: (delivery == Delivery::Mount).then_some(&self.program),
            user,
            labels: self.labels(delivery),
            command: self.serve(),
            options: &self.options,
        })
    }

    fn labels(&self, delivery: Delivery) -> Value {
        let delivery = match delivery {
            Delivery::Mount => "mount",
            Delivery::Copy => COPIED,
        };
        json!({
            CONVERSATION: self.conversation, OWNER: self.owner, VERSION: OUR_VERSION, DELIVERY: delivery,
        })
    }

    /// What of a directory of this machine must not be changed from inside.
    fn kept(&self) -> Result<Vec<Kept>, DockerError> {
        match &self.files {
            Files::Directory(path) if path.is_dir() => {
                keep_as_it_is(path).map_err(|error| DockerError::Keep {
                    path: path.clone(),
                    reason: error.to_string(),
                })
            }
            Files::Directory(_) | Files::Volume(_) | Files::OwnVolume(_) => Ok(Vec::new()),
        }
    }

    /// Whether the engine says that it does not see our program. Engines differ in the words.
    fn lacks_program(&self, error: &DockerError) -> bool {
        let DockerError::Refused { message, .. } = error else {
            return false;
        };
        let program = self.program.display().to_string();
        let missing = ["does not exist", "no such file"];
        message.contains(&program) && missing.iter().any(|words| message.contains(words))
    }

    /// The owner of the files. In a rootless engine that is the container's first user, and a volume has no other.
    async fn user(&self) -> Result<Owner, DockerError> {
        let Files::Directory(path) = &self.files else {
            return Ok(ROOT);
        };
        let is_remote = self.delivery == Delivery::Copy && !path.exists();
        if is_remote {
            return Ok(ROOT); // the engine will tell if it has no such directory
        }
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_dir);
        let metadata = metadata.ok_or_else(|| DockerError::Missing(path.clone()))?;
        if self.docker.is_rootless().await? {
            return Ok(ROOT);
        }
        Ok(Owner {
            user: metadata.uid(),
            group: metadata.gid(),
        })
    }

    fn serve(&self) -> Vec<String> {
        let place = [
            "executor",
            "serve",
            "--directory",
            &format!("/{PRIVATE}"),
            "--workspace",
            WORKSPACE,
        ];
        let mut arguments = place.map(str::to_owned).to_vec();
        arguments.extend(self.terms.arguments());
        arguments
    }

    /// Puts into a new container what the executor needs there. Doing so again does no harm.
    pub(super) async fn furnish(&self, container: &Container) -> Result<(), DockerError> {
        let user = self.user().await?;
        let mut archive = Archive::default();
        archive.directory(OURS, 0o755, ROOT);
        archive.directory(PRIVATE, 0o700, user);
        archive.directory(HOME, 0o700, user);
        if container.is_delivered_by(COPIED) {
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
            format!("/containers/{}/archive", container.id),
        );
        let put = put.query(&[("path", "/")]);
        self.docker
            .tell(put.content("application/x-tar", archive.finish()))
            .await
    }
}
