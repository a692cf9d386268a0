//! What an engine tells of an image, in lines that are worth reading.

use std::collections::HashMap;

use crate::build::ImageNews;
use crate::image::PullProgress;

const MEGABYTE: u64 = 1_000_000;

/// How far the image is. The bytes of each layer would be hundreds of lines: every tenth of all is told.
#[derive(Default)]
pub(super) struct ImageLines {
    /// Of each layer that is fetched: how many of its bytes are here, and how many it has.
    layers: HashMap<String, (u64, u64)>,
    tenths: u64,
}

impl ImageLines {
    /// The line that there is to tell, if there is one.
    pub(super) fn line(&mut self, news: ImageNews) -> Option<String> {
        match news {
            ImageNews::Build(line) => Some(line.trim().to_owned()).filter(|line| !line.is_empty()),
            ImageNews::Pull(progress) => self.pulled(progress),
        }
    }

    fn pulled(&mut self, progress: PullProgress) -> Option<String> {
        let PullProgress { status, layer, size } = progress;
        let Some(layer) = layer else {
            return Some(status);
        };
        match (size.current, size.total) {
            (Some(current), Some(total)) if status == "Downloading" => {
                self.layers.insert(layer, (current, total));
            }
            _ if status == "Download complete" => {
                let (current, total) = self.layers.get_mut(&layer)?;
                *current = *total;
            }
            (_, Some(_)) => return None, // it is unpacked
            _ => return Some(format!("{layer}: {status}")),
        }
        let sum = |part: fn(&(u64, u64)) -> u64| self.layers.values().map(part).sum::<u64>();
        let (current, total) = (sum(|(current, _)| *current), sum(|(_, total)| *total));
        let tenths = (current * 10).checked_div(total)?;
        if tenths <= self.tenths {
            return None; // other layers came, and there is more to do than it seemed
        }
        self.tenths = tenths;
        let (current, total) = (current / MEGABYTE, total / MEGABYTE);
        Some(format!("pulled {current} of {total} MB ({} %)", tenths * 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::PullSize;

    fn pull(layer: Option<&str>, status: &str, size: Option<(u64, u64)>) -> ImageNews {
        ImageNews::Pull(PullProgress {
            status: status.to_owned(),
            layer: layer.map(str::to_owned),
            size: PullSize {
                current: size.map(|(current, _)| current),
                total: size.map(|(_, total)| total),
            },
        })
    }

    #[test]
    fn a_pull_is_told_by_tenths_of_all_layers_and_a_build_whole() {
        let mut lines = ImageLines::default();
        let hundred = 100 * MEGABYTE;
        let told: Vec<_> = [
            pull(None, "Pulling from library/debian", None),
            pull(Some("a"), "Pulling fs layer", None),
            pull(Some("a"), "Downloading", Some((hundred / 100, hundred))),
            pull(Some("a"), "Downloading", Some((hundred / 2, hundred))),
            pull(Some("b"), "Downloading", Some((0, hundred))),
            pull(Some("a"), "Download complete", None),
            pull(Some("b"), "Downloading", Some((hundred / 4, hundred))),
            pull(Some("a"), "Extracting", Some((1, 2))),
            pull(Some("a"), "Pull complete", None),
            ImageNews::Build("Setting up git\n".to_owned()),
            ImageNews::Build("\n".to_owned()),
        ]
        .into_iter()
        .filter_map(|news| lines.line(news))
        .collect();
        assert_eq!(
            told,
            [
                "Pulling from library/debian",
                "a: Pulling fs layer",
                "pulled 50 of 100 MB (50 %)",
                "pulled 125 of 200 MB (60 %)",
                "a: Pull complete",
                "Setting up git",
            ]
        );
    }
}
