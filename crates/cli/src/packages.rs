//! Packages of skills and plugins that the user has installed: each a folder in `~/.deft/skills` or `~/.deft/plugins`,
//! where agents find it, with a note in `~/.deft/packages` of where it comes from. One that is switched off stands
//! beside its note, where nobody looks for it.

mod copy;
mod fetch;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use deft_server::{Existing, FetchedPlugin, Package, PackageError, PackageKind, PackageSource, Packages};
use deft_skills::{MANIFESTS, Origin, Plugin, Roots, Skills, plugin_homes, validate};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Deserialize;

use self::fetch::Fetched;
use crate::output::one_sentence;
use crate::settings::USER_DIR;
use crate::skills::Disk;

/// How long fetching a repository may take.
const FETCH_LIMIT: Duration = Duration::from_secs(120);
/// Where plugins are that were fetched for single conversations, beneath the home directory; agents may read there.
const FETCHED: &str = ".cache/deft/plugins";

/// The packages beneath the user's own directory.
pub(crate) struct UserPackages {
    /// The user's home directory.
    pub(crate) home: PathBuf,
    /// What a source that is no full path begins at.
    pub(crate) current_dir: PathBuf,
}

/// What a package says about itself.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Manifest {
    name: String,
    version: String,
    description: String,
}

impl UserPackages {
    /// Installs every package that a source has.
    pub(crate) async fn install_all(
        &self,
        kind: PackageKind,
        from: &PackageSource,
        existing: Existing,
    ) -> Result<Vec<Package>, PackageError> {
        let (fetched, homes) = self.found(kind, from).await?;
        homes
            .iter()
            .map(|home| self.put(kind, from, existing, &fetched, home))
            .collect()
    }

    async fn found(
        &self,
        kind: PackageKind,
        from: &PackageSource,
    ) -> Result<(Fetched, Vec<PathBuf>), PackageError> {
        let fetched = fetch::fetch(from, &self.current_dir, FETCH_LIMIT).await?;
        let homes = match kind {
            PackageKind::Skill => copy::homes_of_skills(&fetched.folder),
            PackageKind::Plugin => vec![fetched.folder.clone()],
        };
        if homes.is_empty() {
            let sentence = format!("there is no SKILL.md in {}, nor in a folder of it", from.source);
            return Err(PackageError::Refused(sentence));
        }
        Ok((fetched, homes))
    }

    /// Puts one folder where agents find it, and notes where it comes from.
    fn put(
        &self,
        kind: PackageKind,
        from: &PackageSource,
        existing: Existing,
        fetched: &Fetched,
        home: &Path,
    ) -> Result<Package, PackageError> {
        let folder = folder_name(home);
        let about = match kind {
            PackageKind::Skill => about_skill(home, folder)?,
            PackageKind::Plugin => about_plugin(home, folder)?,
        };
        let place = self.enabled(kind).join(&about.name);
        let is_there = place.exists() || self.find(kind, &about.name).is_some();
        if existing == Existing::Kept && is_there {
            let sentence = format!("{} is there already; add --force to replace it", place.display());
            return Err(PackageError::Exists(sentence));
        }
        let placed = copy::put(home, &place).with_context(|| format!("cannot install {}", place.display()));
        placed.map_err(refused)?;
        let _ = fs::remove_dir_all(self.disabled(kind).join(&about.name)); // the one before, if it was switched off
        let description = match kind {
            PackageKind::Skill => self.description(&about.name),
            PackageKind::Plugin => about.description,
        };
        let package = Package {
            name: about.name,
            version: about.version,
            description,
            enabled: true,
            from: from.clone(),
            resolved_ref: fetched.commit.clone(),
            installed_at: SystemTime::now(),
            install_path: place.display().to_string(),
        };
        self.note(kind, &package)?;
        Ok(package)
    }

    /// What a skill that is in its place says it is for.
    fn description(&self, name: &str) -> String {
        let roots = Roots {
            user: vec![self.home.join(USER_DIR).display().to_string()],
            ..Roots::default()
        };
        let skills = Skills::load(&Disk, &roots).0;
        let skill = skills.get(name);
        skill
            .and_then(|skill| skill.description.clone())
            .unwrap_or_default()
    }

    /// Where agents find packages.
    fn enabled(&self, kind: PackageKind) -> PathBuf {
        self.home.join(USER_DIR).join(folder_of(kind))
    }

    /// Where the notes are, and what is switched off.
    fn disabled(&self, kind: PackageKind) -> PathBuf {
        self.home.join(USER_DIR).join("packages").join(folder_of(kind))
    }

    fn note(&self, kind: PackageKind, package: &Package) -> Result<(), PackageError> {
        let folder = self.disabled(kind);
        let write = || -> anyhow::Result<()> {
            fs::create_dir_all(&folder)?;
            let text = serde_json::to_string_pretty(package)?;
            let mut file = tempfile::NamedTempFile::new_in(&folder)?;
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            file.persist(note_in(&folder, &package.name))?;
            Ok(())
        };
        write().context("cannot note what is installed").map_err(refused)
    }

    /// By its note, never by a path that somebody has made of its name.
    fn find(&self, kind: PackageKind, name: &str) -> Option<Package> {
        self.list(kind).into_iter().find(|package| package.name == name)
    }
}

impl Packages for UserPackages {
    fn list(&self, kind: PackageKind) -> Vec<Package> {
        let notes = fs::read_dir(self.disabled(kind)).into_iter().flatten().flatten();
        let read = |entry: fs::DirEntry| {
            let path = entry.path();
            let is_note = path.extension().is_some_and(|ending| ending == "json");
            let text = fs::read_to_string(&path).ok().filter(|_| is_note)?;
            let package: Package = serde_json::from_str(&text).ok()?;
            Path::new(&package.install_path).exists().then_some(package) // or somebody has deleted it
        };
        let mut all: Vec<_> = notes.filter_map(read).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    fn install<'a>(
        &'a self,
        kind: PackageKind,
        from: &'a PackageSource,
        existing: Existing,
    ) -> BoxFuture<'a, Result<Package, PackageError>> {
        async move {
            let (fetched, homes) = self.found(kind, from).await?;
            let [home] = &homes[..] else {
                let sentence = format!("there are {} of them in it; name one with repo_path", homes.len());
                return Err(PackageError::Refused(sentence));
            };
            self.put(kind, from, existing, &fetched, home)
        }
        .boxed()
    }

    fn fetch<'a>(
        &'a self,
        from: &'a PackageSource,
        limit: Duration,
    ) -> BoxFuture<'a, Result<FetchedPlugin, PackageError>> {
        async move {
            let fetched = fetch::fetch(from, &self.current_dir, limit).await?;
            about_plugin(&fetched.folder, String::new())?;
            let folder = match &fetched.commit {
                None => fetched.folder.clone(),
                Some(commit) => {
                    let place = self
                        .home
                        .join(FETCHED)
                        .join(commit)
                        .join(folder_name(&fetched.folder));
                    if !place.exists() {
                        let put = copy::put(&fetched.folder, &place);
                        put.context("cannot keep what was fetched").map_err(refused)?;
                    }
                    place
                }
            };
            Ok(FetchedPlugin {
                plugin: Plugin::read(&Disk, &folder.display().to_string(), Origin::Client),
                resolved_ref: fetched.commit,
            })
        }
        .boxed()
    }

    fn plugins(&self) -> Vec<Plugin> {
        let folders =
            [".agents", USER_DIR, ".openhands"].map(|folder| self.home.join(folder).join("plugins"));
        let homes = folders
            .iter()
            .flat_map(|folder| plugin_homes(&Disk, &folder.display().to_string()));
        homes
            .map(|home| Plugin::read(&Disk, &home, Origin::User))
            .collect()
    }

    fn enable(&self, kind: PackageKind, name: &str, enabled: bool) -> Result<(), PackageError> {
        let mut package = self.find(kind, name).ok_or(PackageError::NotInstalled)?;
        if package.enabled == enabled {
            return Ok(());
        }
        let place = if enabled {
            self.enabled(kind)
        } else {
            self.disabled(kind)
        };
        let place = place.join(&package.name);
        let moved = fs::rename(&package.install_path, &place);
        moved
            .with_context(|| format!("cannot move {} to {}", package.install_path, place.display()))
            .map_err(refused)?;
        package.enabled = enabled;
        package.install_path = place.display().to_string();
        self.note(kind, &package)
    }

    fn uninstall(&self, kind: PackageKind, name: &str) -> Result<(), PackageError> {
        let package = self.find(kind, name).ok_or(PackageError::NotInstalled)?;
        let remove = || -> anyhow::Result<()> {
            fs::remove_dir_all(&package.install_path)?;
            fs::remove_file(note_in(&self.disabled(kind), &package.name))?;
            Ok(())
        };
        remove()
            .with_context(|| format!("cannot remove {}", package.install_path))
            .map_err(refused)
    }
}

/// The last part of a path.
fn folder_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn folder_of(kind: PackageKind) -> &'static str {
    match kind {
        PackageKind::Skill => "skills",
        PackageKind::Plugin => "plugins",
    }
}

fn note_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}

#[allow(clippy::needless_pass_by_value)] // `map_err` gives it away
fn refused(error: anyhow::Error) -> PackageError {
    PackageError::Refused(one_sentence(&error))
}

fn about_skill(home: &Path, folder: String) -> Result<Manifest, PackageError> {
    let problems = validate(&Disk, &home.display().to_string());
    if let Some(problem) = problems.iter().find(|problem| problem.fault.is_fatal()) {
        let sentence = format!("nothing more was installed: {problem}");
        return Err(PackageError::Refused(sentence));
    }
    Ok(Manifest {
        name: folder,
        ..Manifest::default()
    })
}

fn about_plugin(home: &Path, folder: String) -> Result<Manifest, PackageError> {
    let text = MANIFESTS
        .iter()
        .find_map(|path| fs::read_to_string(home.join(path)).ok());
    let text = text.ok_or_else(|| {
        PackageError::Refused(format!(
            "it is no plugin: there is none of {}",
            MANIFESTS.join(", ")
        ))
    })?;
    let mut about: Manifest = serde_json::from_str(&text)
        .context("what it says about itself cannot be read")
        .map_err(refused)?;
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    if about.name.is_empty() || !about.name.chars().all(is_plain) {
        about.name = folder;
    }
    Ok(about)
}
