//! `deft skills`: the skills and the agents for tasks that there are for this directory.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use deft_server::{Existing, PackageKind, PackageSource};
use deft_skills::{
    AgentDefinition, Files, Kind, MEMORY_FILE, Origin, Problem, Roots, Skill, Skills, agents_of_project,
    validate, without_doubles,
};
use deft_tools::careful_walk;
use ignore::{DirEntry, WalkBuilder};
use rustix::fs::{Mode, OFlags, open};
use serde_json::json;

use crate::agents;
use crate::args;
use crate::exit::Exit;
use crate::output::{one_line, without_escapes};
use crate::packages::UserPackages;
use crate::settings::{Surroundings, USER_DIR};

/// Files of one directory that are looked at.
const MAX_FILES: usize = 50_000;
/// Bytes of a file that are read; one more than a skill may have is enough to tell.
const MAX_READ: u64 = 1024 * 1024;

/// The skills that the user keeps for all projects. What is wrong with others `deft skills list` tells.
pub(crate) fn of_user() -> Vec<Skill> {
    let Ok(surroundings) = Surroundings::of_this_process() else {
        return Vec::new();
    };
    let roots = Roots {
        workspace: None,
        repository: None,
        ..roots(&surroundings)
    };
    Skills::load(&Disk, &roots).0.all().to_vec()
}

/// What the user has noted for all projects.
pub(crate) fn notes_of_user() -> Option<String> {
    let surroundings = Surroundings::of_this_process().ok()?;
    let user = roots(&surroundings).user;
    user.iter()
        .find_map(|directory| Disk.read(&format!("{directory}/{MEMORY_FILE}")).ok())
}

pub(crate) async fn skills(args: args::Skills) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let (skills, mut problems) = Skills::load(&Disk, &roots(&surroundings));
    let agents = agents(&surroundings, &mut problems);
    let mut out = anstream::AutoStream::auto(io::stdout()).lock();
    match args {
        args::Skills::List(listing) if listing.json => {
            let all = json!({"skills": skills.all(), "agents": agents, "problems": problems});
            writeln!(out, "{all:#}")?;
        }
        args::Skills::List(_) => list(&mut out, &skills, &agents, &problems)?,
        args::Skills::Show(named) => {
            let skill = skills.get(&named.name).map(|skill| &skill.body);
            let agent = agents.iter().find(|agent| agent.name == named.name);
            match skill.or(agent.map(|agent| &agent.instructions)) {
                Some(text) => writeln!(out, "{}", without_escapes(text))?,
                None => bail!(
                    "there is no skill or agent named {:?}; `deft skills list` shows them all",
                    named.name
                ),
            }
        }
        args::Skills::Validate(files) => {
            let problems = if files.paths.is_empty() {
                problems
            } else {
                validated(&surroundings, &files.paths)
            };
            for problem in &problems {
                writeln!(out, "{}", one_line(&problem.to_string()))?;
            }
            if problems.iter().any(|problem| problem.fault.is_fatal()) {
                return Ok(Exit::Failed);
            }
            if problems.is_empty() {
                writeln!(out, "nothing is wrong")?;
            }
        }
        args::Skills::Install(args) => {
            let packages =
                installed(&surroundings).context("there is no home directory to install skills in")?;
            let from = PackageSource {
                source: args.source,
                reference: None,
                repo_path: None,
            };
            let existing = if args.force {
                Existing::Replaced
            } else {
                Existing::Kept
            };
            for package in packages.install_all(PackageKind::Skill, &from, existing).await? {
                writeln!(out, "installed {}", one_line(&package.name))?;
            }
        }
    }
    Ok(Exit::Finished)
}

/// What the user has installed.
pub(crate) fn installed(surroundings: &Surroundings) -> Option<UserPackages> {
    Some(UserPackages {
        home: surroundings.home.clone()?,
        current_dir: surroundings.current_dir.clone(),
    })
}

/// The agents that files define, those of the project first.
fn agents(surroundings: &Surroundings, problems: &mut Vec<Problem>) -> Vec<AgentDefinition> {
    let here = surroundings.current_dir.display().to_string();
    let files = agents_of_project(&Disk, &here).into_iter();
    let files = files.chain(agents::files_of_user());
    without_doubles(files.filter_map(|file| file.map_err(|problem| problems.push(problem)).ok()))
}

fn list(
    out: &mut impl Write,
    skills: &Skills,
    agents: &[AgentDefinition],
    problems: &[Problem],
) -> io::Result<()> {
    if skills.all().is_empty() {
        writeln!(out, "no skills; write one to .agents/skills/NAME/SKILL.md")?;
    }
    for skill in skills.all() {
        let (name, path) = (one_line(&skill.name), one_line(&skill.path));
        writeln!(out, "{name}  ({}, {})  {path}", whose(skill.origin), when(skill))?;
        if let Some(description) = &skill.description {
            writeln!(out, "    {}", one_line(description))?;
        }
    }
    for agent in agents {
        let (name, path) = (one_line(&agent.name), one_line(&agent.path));
        writeln!(
            out,
            "{name}  ({}, an agent for tasks)  {path}",
            whose(agent.origin)
        )?;
        if !agent.description.is_empty() {
            writeln!(out, "    {}", one_line(&agent.description))?;
        }
    }
    for problem in problems {
        writeln!(out, "! {}", one_line(&problem.to_string()))?;
    }
    Ok(())
}

fn whose(origin: Origin) -> &'static str {
    match origin {
        Origin::Project => "project",
        Origin::User => "user",
        Origin::Client => "client",
    }
}

/// When the model gets to read it.
fn when(skill: &Skill) -> String {
    let said = |words: &[String]| one_line(&words.join(", "));
    match skill.kind {
        Kind::Repo => "always".to_owned(),
        Kind::PathRule => format!("for {}", said(&skill.paths)),
        Kind::Agent | Kind::Knowledge | Kind::Task if skill.triggers.is_empty() => {
            "when asked for".to_owned()
        }
        Kind::Agent | Kind::Knowledge | Kind::Task => format!("on {}", said(&skill.triggers)),
    }
}

fn validated(surroundings: &Surroundings, paths: &[PathBuf]) -> Vec<Problem> {
    let full = |path: &PathBuf| surroundings.current_dir.join(path).display().to_string();
    paths
        .iter()
        .flat_map(|path| validate(&Disk, &full(path)))
        .collect()
}

/// This directory, the top of its repository, and the user's own.
pub(crate) fn roots(surroundings: &Surroundings) -> Roots {
    let text = |path: &Path| path.display().to_string();
    let here = &surroundings.current_dir;
    let repository = here.ancestors().find(|directory| directory.join(".git").exists());
    let user = |home: &PathBuf| {
        [USER_DIR, ".openhands"]
            .map(|directory| text(&home.join(directory)))
            .to_vec()
    };
    Roots {
        workspace: Some(text(here)),
        // What is in a home directory is the user's own, whether or not that is a repository.
        repository: repository
            .filter(|top| *top != here.as_path() && surroundings.home.as_deref() != Some(*top))
            .map(text),
        home: surroundings.home.as_deref().map(text),
        user: surroundings.home.as_ref().map(user).unwrap_or_default(),
    }
}

/// The user's own disk.
pub(crate) struct Disk;

/// Whether files count that version control ignores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ignored {
    Included,
    LeftOut,
}

fn files_below(directory: &str, ignored: Ignored) -> Vec<String> {
    let is_wanted = |entry: &DirEntry| entry.file_name() != ".git";
    let mut walk = match ignored {
        Ignored::LeftOut => careful_walk(Path::new(directory), is_wanted),
        Ignored::Included => {
            let mut walk = WalkBuilder::new(directory);
            walk.standard_filters(false).filter_entry(is_wanted);
            walk
        }
    };
    walk.hidden(false)
        .build()
        .filter_map(Result::ok)
        .take(MAX_FILES)
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.path().to_str().map(str::to_owned))
        .collect()
}

impl Files for Disk {
    fn list(&self, directory: &str) -> Vec<String> {
        files_below(directory, Ignored::Included)
    }

    fn tracked(&self, directory: &str) -> Vec<String> {
        files_below(directory, Ignored::LeftOut)
    }

    fn read(&self, path: &str) -> io::Result<String> {
        // A pipe would be waited for, and a device has no end.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(open(path, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut text = String::new();
        file.take(MAX_READ).read_to_string(&mut text)?;
        Ok(text)
    }
}
