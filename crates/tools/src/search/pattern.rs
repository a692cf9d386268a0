//! Patterns for the names of files.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The characters that make a part of a path more than a name.
const MAGIC: [char; 4] = ['*', '?', '[', '{'];

/// Which files of a directory are meant.
#[derive(Clone, Debug)]
pub(crate) struct FilePattern {
    set: GlobSet,
    /// Whether a part of it begins with a dot, which asks for hidden files.
    pub(crate) asks_for_hidden: bool,
    /// Whether it asks for what git keeps for itself.
    pub(crate) asks_for_git: bool,
}

impl FilePattern {
    /// A pattern without a slash fits at any depth, another one from the directory on. `{a,b}` is either.
    pub(crate) fn new(text: &str) -> Result<Self, globset::Error> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let anchored = if text.contains('/') {
            text.strip_prefix('/').unwrap_or(text).to_owned()
        } else {
            format!("**/{text}")
        };
        let glob = GlobBuilder::new(&anchored).literal_separator(true).build()?;
        let parts = || text.split(['/', ',', '{', '}']);
        Ok(Self {
            // A set of one, because sets know shortcuts for the usual patterns.
            set: GlobSetBuilder::new().add(glob).build()?,
            asks_for_hidden: parts().any(|part| part.starts_with('.') && part != "."),
            asks_for_git: parts().any(|part| part == ".git"),
        })
    }

    /// Whether it fits a path that begins at the directory.
    pub(crate) fn fits(&self, path: &Path) -> bool {
        self.set.is_match(path)
    }
}

/// Splits a pattern into the directory that its plain beginning names and the rest, so that nothing else is walked.
pub(crate) fn split(directory: &Path, pattern: &str) -> (PathBuf, String) {
    let pattern = if pattern.is_empty() { "**/*" } else { pattern };
    let (start, rest) = if pattern.contains(MAGIC) {
        let plain = pattern.find(MAGIC).unwrap_or_default();
        pattern.split_at(pattern[..plain].rfind('/').map_or(0, |slash| slash + 1))
    } else if directory.join(pattern).is_dir() {
        (pattern, "**/*")
    } else {
        pattern.split_at(pattern.rfind('/').map_or(0, |slash| slash + 1))
    };
    let directory = directory.join(start).components().collect();
    if start.is_empty() || rest.contains('/') {
        (directory, rest.to_owned())
    } else {
        (directory, format!("/{rest}")) // of this directory only, as it had a slash before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_as_people_expect() {
        for (pattern, path, fits) in [
            ("*.py", "a.py", true),
            ("*.py", "src/deep/a.py", true),
            ("**/*.py", "a.py", true),
            ("src/*.py", "src/a.py", true),
            ("src/*.py", "src/deep/a.py", false),
            ("src/*.py", "other/src/a.py", false),
            ("./src/*.py", "src/a.py", true),
            ("/*.py", "a.py", true),
            ("/*.py", "src/a.py", false),
            ("*.{ts,tsx}", "src/a.tsx", true),
            ("*.{ts,tsx}", "src/a.js", false),
            ("[ab].txt", "b.txt", true),
            ("src/**", "src/deep/a", true),
        ] {
            assert_eq!(
                FilePattern::new(pattern).unwrap().fits(Path::new(path)),
                fits,
                "{pattern} {path}"
            );
        }
        for (pattern, hidden) in [
            (".env", true),
            ("**/.github/*", true),
            ("*.{x,.y}", true),
            ("*.py", false),
            ("./a", false),
        ] {
            assert_eq!(
                FilePattern::new(pattern).unwrap().asks_for_hidden,
                hidden,
                "{pattern}"
            );
        }
    }

    #[test]
    fn the_plain_beginning_of_a_pattern_is_where_to_look() {
        for (pattern, directory, rest) in [
            ("*.py", "/w", "*.py"),
            ("main.rs", "/w", "main.rs"),
            ("src/*.py", "/w/src", "/*.py"),
            ("src/**/*.py", "/w/src", "**/*.py"),
            ("../x/*", "/w/../x", "/*"),
            ("/etc/host*", "/etc", "/host*"),
            ("a/b{c/d,e}", "/w/a", "b{c/d,e}"),
            ("", "/w", "**/*"),
            ("/proc/self", "/proc/self", "**/*"),
            ("a/b", "/w/a", "/b"),
        ] {
            assert_eq!(
                split(Path::new("/w"), pattern),
                (directory.into(), rest.to_owned()),
                "{pattern}"
            );
        }
    }
}
