//! What lands in files that others depend on.

use deft_types::SecurityRisk::{self, High, Medium};

use super::sed::written_by_sed;
use super::{has_flag, operands, place_of};
use crate::place::Place;
use crate::shell::{Simple, Word};
use crate::verdict::Finding;

pub(super) fn judge(command: &Simple, workspace: &str) -> Vec<Finding> {
    let redirected = command
        .redirects
        .iter()
        .filter(|redirect| redirect.writes)
        .map(|redirect| &redirect.target);
    let read = command
        .redirects
        .iter()
        .filter(|redirect| !redirect.writes)
        .map(|redirect| &redirect.target);
    let place = |word: &Word| {
        let joined = ["of=", "--output="];
        let named = joined.iter().find_map(|option| word.text.strip_prefix(option));
        place_of(named.unwrap_or(&word.text), word, command, workspace)
    };
    let by_sed = written_by_sed(command).into_iter();
    let by_sed = by_sed.filter_map(|(file, word)| place_of(file, word, command, workspace));
    let written = redirected
        .chain(destinations(command))
        .filter_map(place)
        .chain(by_sed)
        .filter_map(written);
    let read = read.filter_map(place).filter_map(|place| match place {
        Place::Credentials => Some((High, "read-credentials", "It reads keys or passwords.")),
        Place::Connection => Some((High, "connection", "It opens a connection to another machine.")),
        _ => None,
    });
    written
        .chain(read)
        .map(|(risk, rule, reason)| Finding::pattern(risk, rule, reason))
        .collect()
}

/// What it means to write there.
pub(crate) fn written(place: Place) -> Option<(SecurityRisk, &'static str, &'static str)> {
    match place {
        Place::Credentials => Some((High, "write-credentials", "It writes over keys or passwords.")),
        Place::Obeyed => Some((
            High,
            "write-obeyed",
            "It writes a file that other programs run or obey.",
        )),
        Place::Root | Place::System => Some((High, "write-system", "It writes to the system's files.")),
        Place::Device => Some((High, "raw-disk", "It writes over a device.")),
        Place::Connection => Some((High, "connection", "It opens a connection to another machine.")),
        Place::Pipeline => Some((Medium, "write-pipeline", "It changes what the build server runs.")),
        Place::Home | Place::BelowHome | Place::Elsewhere => {
            Some((Medium, "write-outside", "It writes outside the workspace."))
        }
        Place::Workspace | Place::Inside | Place::Temporary | Place::Sink => None,
    }
}

/// The files that a command writes by its arguments.
fn destinations(command: &Simple) -> Vec<&Word> {
    let arguments = command.words.get(1..).unwrap_or_default();
    let behind = |options: &[&str]| {
        let pairs = arguments
            .windows(2)
            .filter(|pair| options.contains(&pair[0].text.as_str()));
        pairs.map(|pair| &pair[1]).collect()
    };
    match command.verb() {
        "tee" | "touch" | "truncate" | "chattr" | "mkdir" | "patch" => operands(command).collect(),
        "cp" | "mv" | "install" | "ln" | "rsync" => {
            let mut found: Vec<&Word> = behind(&["-t", "--target-directory"]);
            found.extend(operands(command).last());
            found
        }
        "sed" | "perl" if has_flag(arguments, "-i") || has_flag(arguments, "--in-place") => {
            operands(command).skip(1).collect()
        }
        "dd" => arguments
            .iter()
            .filter(|word| word.text.starts_with("of="))
            .collect(),
        "find" => behind(&["-fprint", "-fprint0", "-fprintf", "-fls"]),
        "curl" => behind(&["-o", "--output"]),
        "wget" => behind(&["-O", "--output-document", "-P"]),
        "tar" | "unzip" => behind(&["-C", "--directory", "-d"]),
        "git" => {
            let mut found: Vec<&Word> = behind(&["--output"]);
            found.extend(arguments.iter().filter(|word| word.text.starts_with("--output=")));
            found
        }
        _ => Vec::new(),
    }
}
