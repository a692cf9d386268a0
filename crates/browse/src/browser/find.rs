//! Finds a Chromium on this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where packages put it. Debian's own comes before the script that starts it, which takes time for what we do not need.
const PLACES: [&str; 10] = [
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
    "/opt/google/chrome/chrome",
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/chromium-headless-shell",
    "/usr/bin/microsoft-edge",
];

/// Names to look for in `PATH`.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// The first one of: where packages put it, what Playwright has downloaded, `PATH`.
pub(super) fn find(env: &[(String, String)]) -> Option<PathBuf> {
    let variable = |name: &str| {
        env.iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let downloads = variable("PLAYWRIGHT_BROWSERS_PATH")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(variable("HOME")?).join(".cache/ms-playwright")));
    let in_path = variable("PATH")
        .unwrap_or_default()
        .split(':')
        .filter(|directory| !directory.is_empty());
    let in_path = in_path.flat_map(|directory| NAMES.map(|name| Path::new(directory).join(name)));
    PLACES
        .map(PathBuf::from)
        .into_iter()
        .chain(
            downloads
                .into_iter()
                .flat_map(|downloads| playwrights(&downloads)),
        )
        .chain(in_path)
        .find(|path| is_program(path))
}

/// The newest first.
fn playwrights(downloads: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<(u64, PathBuf)> = fs::read_dir(downloads)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry
                .file_name()
                .to_str()?
                .strip_prefix("chromium-")?
                .parse()
                .ok()?;
            Some((version, entry.path()))
        })
        .collect();
    versions.sort_unstable_by(|one, two| two.cmp(one));
    versions
        .into_iter()
        .flat_map(|(_, path)| ["chrome-linux64/chrome", "chrome-linux/chrome"].map(|inner| path.join(inner)))
        .collect()
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_playwrights_downloads_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        for version in ["chromium-999", "chromium-1208", "firefox-2000"] {
            fs::create_dir_all(directory.path().join(version).join("chrome-linux")).unwrap();
        }
        let found = playwrights(directory.path());
        assert_eq!(
            found[1],
            directory.path().join("chromium-1208/chrome-linux/chrome")
        );
        assert_eq!(found.len(), 4);
    }
}
