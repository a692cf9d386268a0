//! `deft images`: what was built for workspaces in containers.

use std::io::Write as _;
use std::time::{Duration, SystemTime};

use deft_docker::{BuiltImage, Prune};
use deft_types::Timestamp;
use serde_json::json;

use crate::args::Images;
use crate::exit::Exit;
use crate::output::{json_line, one_line};
use crate::workspace;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MEGABYTE: u64 = 1024 * 1024;

/// Lists or removes them; those that were removed are listed too.
pub(crate) async fn images(command: Images) -> anyhow::Result<Exit> {
    let engine = workspace::container_engine()?;
    let (images, listing) = match command {
        Images::List(listing) => (engine.built_images().await?, listing),
        Images::Prune(args) => {
            let prune = Prune {
                older_than: DAY.saturating_mul(args.older_than),
                keep_bytes: args.keep_bytes,
            };
            (engine.prune_images(prune, SystemTime::now()).await?, args.listing)
        }
    };
    let mut out = std::io::stdout().lock();
    for image in &images {
        if listing.json {
            writeln!(out, "{}", json_line(&as_json(image))?)?;
        } else {
            let size = image.bytes.div_ceil(MEGABYTE);
            writeln!(out, "{}  {size} MB  {}", image.name, one_line(&image.content))?;
        }
    }
    Ok(Exit::Finished)
}

fn as_json(image: &BuiltImage) -> serde_json::Value {
    json!({
        "name": image.name,
        "content": image.content,
        "created_at": Timestamp::at(image.created),
        "bytes": image.bytes,
    })
}
