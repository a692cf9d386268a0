//! The newest files of many, without keeping the others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::FILE_LIMIT;

/// Takes any number of files and keeps the newest ones.
#[derive(Debug, Default)]
pub(crate) struct Newest {
    /// The oldest is on top, to be thrown out next.
    kept: BinaryHeap<Reverse<(SystemTime, Reverse<PathBuf>)>>,
    seen: usize,
}

impl Newest {
    pub(crate) fn add(&mut self, path: &Path, modified: SystemTime) {
        self.seen += 1;
        if self.kept.len() == FILE_LIMIT {
            let newer = |Reverse((oldest, Reverse(its_path))): &Reverse<(SystemTime, Reverse<PathBuf>)>| {
                (modified, Reverse(path)) > (*oldest, Reverse(its_path.as_path()))
            };
            if !self.kept.peek().is_some_and(newer) {
                return;
            }
            self.kept.pop();
        }
        self.kept.push(Reverse((modified, Reverse(path.to_owned()))));
    }

    /// How many files there were.
    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    /// The newest ones, newest first; those of one time by name.
    pub(crate) fn into_paths(self) -> Vec<PathBuf> {
        let newest_first = self.kept.into_sorted_vec();
        newest_first
            .into_iter()
            .map(|Reverse((_, Reverse(path)))| path)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_newest_files_are_kept_in_order() {
        let mut newest = Newest::default();
        for number in [5u64, 200, 7].into_iter().chain(8..150).chain([200]) {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(number);
            newest.add(Path::new(&format!("f{number}-{}", newest.seen())), time);
        }
        assert_eq!(newest.seen(), 146);
        let paths = newest.into_paths();
        assert_eq!(paths.len(), FILE_LIMIT);
        assert_eq!(
            paths[..3],
            [Path::new("f200-1"), Path::new("f200-145"), Path::new("f149-144")]
        );
        assert_eq!(paths[99], Path::new("f52-47"));
    }
}
