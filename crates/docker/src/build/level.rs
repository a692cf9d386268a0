//! What is done for each level of an image.

use std::io::Read;

use super::{Layers, MAX_SETUP_BYTES, PLACE};
use crate::error::DockerError;
use crate::plugin::Plugin;

const INSTALL_PACKAGES: (&str, &str) = ("packages.sh", include_str!("packages.sh"));
const TRY_SERVICE: &str = include_str!("try-service.sh");
const SETUP: &str = "setup.sh";
/// Where programs are that everybody finds.
const BIN: &str = "/usr/local/bin";

/// What is put on an image in one go.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) name: &'static str,
    /// For people.
    pub(super) content: String,
    /// Names and texts.
    pub(super) files: Vec<(String, String)>,
    /// Programs with their arguments.
    pub(super) runs: Vec<Vec<String>>,
}

/// The levels from the lowest up. What is empty is no level.
pub(super) fn levels(layers: &Layers) -> Result<Vec<Level>, DockerError> {
    let mut levels = Vec::new();
    let mut below = String::new();
    let mut add = |name, content: String, files, runs| {
        below += if below.is_empty() { "" } else { " + " };
        below += &content;
        levels.push(Level {
            name,
            content: below.clone(),
            files,
            runs,
        });
    };
    if !layers.packages.is_empty() {
        plain(&layers.packages)?;
        let mut run = vec!["sh".to_owned(), at(INSTALL_PACKAGES.0), "--any".to_owned()];
        run.extend(layers.packages.iter().cloned());
        let content = format!("packages {}", layers.packages.join(","));
        add("packages", content, vec![owned(INSTALL_PACKAGES)], vec![run]);
    }
    if !layers.plugins.is_empty() {
        let mut files = vec![owned(INSTALL_PACKAGES)];
        let mut runs = Vec::new();
        for (index, plugin) in layers.plugins.iter().enumerate() {
            let name = format!("plugin-{index}.sh");
            runs.push(vec!["sh".to_owned(), at(&name)]);
            files.push((name, script(plugin)?));
            if let Some(service) = &plugin.serves {
                files.push((starter(plugin), format!("#!/bin/sh\n{}\n", service.command)));
            }
        }
        let names: Vec<_> = layers.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        add("plugins", format!("plugins {}", names.join(",")), files, runs);
    }
    if let Some(path) = &layers.setup {
        let unreadable = |reason: String| DockerError::Setup {
            path: path.clone(),
            reason,
        };
        let mut script = String::new();
        // A pipe would never end.
        if !path.is_file() {
            return Err(unreadable("it is not a file".to_owned()));
        }
        let file = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
        let read = file.take(MAX_SETUP_BYTES + 1).read_to_string(&mut script);
        read.map_err(|error| unreadable(error.to_string()))?;
        if script.len() as u64 > MAX_SETUP_BYTES {
            return Err(unreadable(format!("it has more than {MAX_SETUP_BYTES} bytes")));
        }
        let run = vec!["sh".to_owned(), "-e".to_owned(), at(SETUP)];
        add(
            "setup",
            "setup script".to_owned(),
            vec![(SETUP.to_owned(), script)],
            vec![run],
        );
    }
    Ok(levels)
}

/// Installs a plugin, and fails if it does not work then.
fn script(plugin: &Plugin) -> Result<String, DockerError> {
    let mut lines = vec!["set -eu".to_owned()];
    let packages = &plugin.packages;
    if !packages.is_empty() {
        let mut line = vec!["sh".to_owned(), at(INSTALL_PACKAGES.0)];
        for (manager, names) in [
            ("apt", &packages.apt),
            ("apk", &packages.apk),
            ("dnf", &packages.dnf),
        ] {
            plain(names)?;
            line.push(format!("--{manager}"));
            line.extend(names.iter().cloned());
        }
        lines.push(line.join(" "));
    }
    lines.extend(plugin.install.iter().cloned());
    plain(&plugin.tools)?;
    lines.extend(plugin.tools.iter().map(|tool| {
        format!("command -v {tool} || {{ echo 'there is no {tool} after the installation' >&2; exit 1; }}")
    }));
    lines.extend(plugin.check.clone());
    if let Some(service) = &plugin.serves {
        let (name, file) = (starter(plugin), at(&starter(plugin)));
        lines.push(format!(
            "mkdir -p {BIN} && cat {file} > {BIN}/{name} && chmod 755 {BIN}/{name}"
        ));
        lines.push(format!("NAME={BIN}/{name} PORT={}\n{TRY_SERVICE}", service.port));
    }
    Ok(lines.join("\n"))
}

/// The program that serves what a plugin has to serve.
fn starter(plugin: &Plugin) -> String {
    format!("serve-{}", plugin.name)
}

/// Names of packages and programs have nothing that a shell reads, and are no options.
fn plain(names: &[String]) -> Result<(), DockerError> {
    let fits = |character: char| character.is_ascii_alphanumeric() || "+-._:=~@/".contains(character);
    let is_plain = |name: &&String| {
        name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.chars().all(fits)
    };
    match names.iter().find(|name| !is_plain(name)) {
        None => Ok(()),
        Some(name) => Err(DockerError::PackageName(name.clone())),
    }
}

fn at(name: &str) -> String {
    format!("{PLACE}/{name}")
}

fn owned((name, text): (&str, &str)) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::process::Command;

    use super::*;

    #[test]
    fn each_part_is_a_level_of_its_own_and_an_empty_one_is_none() {
        let names =
            |layers: &Layers| -> Vec<_> { levels(layers).unwrap().iter().map(|level| level.name).collect() };
        let directory = tempfile::tempdir().unwrap();
        let setup = directory.path().join("setup");
        std::fs::write(&setup, "true").unwrap();
        let mut layers = Layers {
            packages: vec!["git".to_owned(), "g++=4:12~x".to_owned()],
            plugins: vec![Plugin::default()],
            setup: Some(setup),
        };
        assert_eq!(names(&layers), ["packages", "plugins", "setup"]);
        layers.plugins.clear();
        assert_eq!(names(&layers), ["packages", "setup"]);
        assert_eq!(names(&Layers::default()), [""; 0]);
    }

    #[test]
    fn what_our_plugins_run_is_right_for_a_shell() {
        for plugin in Plugin::ours() {
            let packages = &plugin.packages;
            assert!(
                !packages.apt.is_empty() && !packages.dnf.is_empty(),
                "{}",
                plugin.name
            );
            let layers = Layers {
                plugins: vec![plugin],
                ..Layers::default()
            };
            for (name, text) in levels(&layers).unwrap().remove(0).files {
                let read = Command::new("sh").args(["-n", "-c", &text]).output().unwrap();
                let complaint = String::from_utf8_lossy(&read.stderr);
                assert!(
                    read.status.success(),
                    "{} {name}: {complaint}",
                    layers.plugins[0].name
                );
            }
        }
    }

    #[test]
    fn what_a_plugin_serves_is_part_of_its_level_and_tried() {
        let mut layers = Layers {
            plugins: vec![Plugin::named("jupyter", std::path::Path::new("/nowhere")).unwrap()],
            ..Layers::default()
        };
        let level = levels(&layers).unwrap().pop().unwrap();
        let text = |name: &str| {
            let file = level.files.iter().find(|(file, _)| file == name);
            file.unwrap().1.clone()
        };
        assert!(text("serve-jupyter").contains("--port 8888"));
        assert!(text("plugin-0.sh").contains("NAME=/usr/local/bin/serve-jupyter PORT=8888"));
        let before = level.files.clone();
        layers.plugins[0].serves.as_mut().unwrap().command += " --quiet";
        let after = levels(&layers).unwrap().pop().unwrap().files;
        assert_ne!(before, after, "another command is another image");
    }

    #[test]
    fn what_a_shell_would_read_is_no_package() {
        for name in ["", "-y", "--any", "a b", "a;b", "$(x)", "a'b", "a\nb", "*"] {
            let layers = Layers {
                packages: vec![name.to_owned()],
                ..Layers::default()
            };
            let told = levels(&layers).unwrap_err().to_string();
            assert!(told.contains("is no name of a package"), "{told}");
        }
    }

    #[test]
    fn a_setup_script_that_cannot_be_read_is_told() {
        for (path, words) in [("/nowhere/setup", "not a file"), ("/dev/zero", "not a file")] {
            let layers = Layers {
                setup: Some(path.into()),
                ..Layers::default()
            };
            let told = levels(&layers).unwrap_err().to_string();
            assert!(told.contains(path) && told.contains(words), "{told}");
        }
    }
}
