//! The commands that commands run: behind `sudo`, in `bash -c`, on the standard input of a shell.

use super::printed::{join, printed};
use super::{Reader, Simple, Word, handed};

/// Words behind options we do not know that are tried as the command.
const MAX_GUESSES: usize = 6;

/// A program that runs the rest of its line.
struct Wrapper {
    name: &'static str,
    /// Options with a value of their own.
    valued: &'static [&'static str],
    /// Arguments before the command.
    leading: usize,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], leading: usize) -> Wrapper {
    Wrapper {
        name,
        valued,
        leading,
    }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("env", &["-u", "--unset", "-C", "--chdir"], 0),
    wrapper(
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "--user", "--group",
        ],
        0,
    ),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("timeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "-n", "-p"], 0),
    wrapper("nohup", &[], 0),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
    wrapper("chroot", &["--userspec", "--groups"], 1),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0),
    wrapper("strace", &["-o", "-e", "-p", "-s", "-P"], 0),
    wrapper("ltrace", &["-o", "-e", "-p", "-s"], 0),
    wrapper("setsid", &[], 0),
    wrapper("setarch", &[], 1),
    wrapper("exec", &["-a"], 0),
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    wrapper("time", &["-f", "-o"], 0),
    wrapper("xargs", &["-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a"], 0),
    wrapper("parallel", &["-j", "-N", "-a"], 0),
    wrapper("watch", &["-n", "-d"], 0),
    wrapper("taskset", &[], 1),
    wrapper("unshare", &[], 0),
    wrapper("nsenter", &["-t", "-S", "-G"], 0),
    wrapper("flock", &["-w", "-E"], 1),
    wrapper("ssh", &["-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D"], 1),
    wrapper("gosu", &[], 1),
    wrapper("fakeroot", &[], 0),
    wrapper("unbuffer", &[], 0),
    wrapper("systemd-run", &["-p", "-u"], 0),
    wrapper("runuser", &["-u", "-g"], 0),
    wrapper("coproc", &[], 0),
    wrapper("caffeinate", &["-t", "-w"], 0),
    wrapper("entr", &[], 0),
    wrapper("screen", &["-S", "-c", "-e", "-h", "-p", "-s", "-t", "-T"], 0),
];

/// Programs that run one of their arguments as a script.
const SCRIPT_OPTIONS: &[(&str, &str)] = &[
    ("su", "-c"),
    ("runuser", "-c"),
    ("script", "-c"),
    ("flock", "-c"),
    ("env", "-S"),
];

/// Programs whose arguments set variables.
const SETTERS: &[&str] = &["env", "sudo", "doas", "export", "declare", "typeset"];

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash"];

const LANGUAGES: &[&str] = &[
    "python",
    "pypy",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "osascript",
    "pwsh",
    "tclsh",
];

/// Programs that take commands of other kinds, or start what they are given.
const RUNNERS: &[&str] = &[
    "eval", "source", ".", "find", "su", "script", "at", "docker", "podman", "tmux",
];

/// Programs with a language of their own in which commands can be run and files written.
const SCRIPTED: &[&str] = &[
    "sed", "gsed", "awk", "gawk", "mawk", "nawk", "expect", "gdb", "lldb", "sqlite3", "psql", "mysql",
    "mariadb", "ed", "ex", "vi", "vim", "nvim", "view", "vimdiff", "emacs", "nano", "less", "more", "most",
    "man", "ftp", "sftp", "telnet", "m4", "jshell", "octave", "gnuplot", "crontab",
];

/// A program's name without its directory.
pub(crate) fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

pub(crate) fn is_shell(verb: &str) -> bool {
    SHELLS.contains(&verb)
}

/// Whether it runs programs in some language.
pub(crate) fn is_interpreter(verb: &str) -> bool {
    let stem = verb.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    is_shell(verb) || LANGUAGES.contains(&stem)
}

/// Whether it only runs the rest of its line.
pub(crate) fn is_wrapper(verb: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.name == verb)
}

/// Whether it starts other programs by its arguments.
pub(crate) fn runs_others(verb: &str) -> bool {
    is_interpreter(verb) || RUNNERS.contains(&verb) || is_wrapper(verb) || obeys_arguments(verb)
}

/// Whether any further argument can make it run something else, or write a file.
pub(crate) fn obeys_arguments(verb: &str) -> bool {
    SCRIPTED.contains(&verb)
}

impl Reader<'_> {
    pub(super) fn add_inner(&mut self, command: &Simple) {
        let verb = command.verb();
        let arguments = command.words.get(1..).unwrap_or_default();
        if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == verb) {
            self.add_wrapped(wrapper, arguments, command);
        }
        for (_, option) in SCRIPT_OPTIONS.iter().filter(|(program, _)| *program == verb) {
            if let Some(script) = behind(arguments, option) {
                self.read(&script.text);
            }
        }
        for script in handed::in_options(verb, arguments) {
            self.read(script);
        }
        // What sed and awk say is no such language: `!seen[$0]++`.
        if obeys_arguments(verb) && !verb.ends_with("sed") && !verb.ends_with("awk") {
            let told = arguments.iter().chain(&command.fed);
            for script in told.flat_map(|word| handed::in_escapes(&word.text)) {
                self.read(script);
            }
        }
        let given = command.assignments.iter();
        let given = given.map(|(name, value)| (name.as_str(), value.text.as_str()));
        let words = arguments.iter().filter(|_| SETTERS.contains(&verb));
        let set = words.filter_map(|word| word.text.split_once('='));
        for (name, value) in given.chain(set) {
            if let Some(script) = handed::in_variable(name, value) {
                self.read(script);
            }
        }
        self.add_started(command);
        match verb {
            "eval" => {
                self.read(&join(arguments).text);
            }
            "trap" | "hyperfine" | "tmux" => {
                for word in arguments.iter().filter(|word| word.text.contains(' ')) {
                    self.read(&word.text);
                }
            }
            // What `"$@"` then runs.
            "set" => {
                let list = arguments.iter().position(|word| word.text == "--");
                self.add_words(list.map_or(&[], |at| &arguments[at + 1..]), command);
            }
            "alias" => {
                for (_, script) in arguments.iter().filter_map(|word| word.text.split_once('=')) {
                    self.read(script);
                }
            }
            "source" | "." => {
                for script in &command.program {
                    self.read_program(&script.text);
                }
            }
            "find" | "fd" => self.add_found(arguments, command),
            "docker" | "podman" | "kubectl" => self.add_in_container(arguments, command),
            _ if is_shell(verb) => self.add_shell(arguments, command),
            _ => {}
        }
    }

    fn add_wrapped(&mut self, wrapper: &Wrapper, arguments: &[Word], command: &Simple) {
        let mut rest = arguments;
        let mut guesses = 1;
        let mut leading = wrapper.leading;
        while let Some((word, more)) = rest.split_first() {
            let text = word.text.as_str();
            if wrapper.name == "command" && matches!(text, "-v" | "-V") {
                return; // only asks where it is
            }
            rest = if wrapper.valued.contains(&text) {
                more.get(1..).unwrap_or_default()
            } else if text.starts_with('-') && text.len() > 1 {
                if !command.is_inner {
                    guesses = MAX_GUESSES; // it may have taken what follows as its value
                }
                more
            } else if matches!(wrapper.name, "env" | "sudo") && text.contains('=') {
                more
            } else if leading > 0 {
                leading -= 1;
                more
            } else {
                break;
            };
        }
        for start in 0..guesses.min(rest.len()) {
            self.add_words(&rest[start..], command);
        }
        let runner = match (wrapper.name, rest) {
            ("parallel", []) => Some(Word::from("sh".to_owned())),
            ("xargs" | "parallel", rest) => runner_of_input(arguments, rest),
            _ => None,
        };
        self.add_words(runner.as_slice(), command);
    }

    /// `find … -exec rm {} ;`
    fn add_found(&mut self, arguments: &[Word], command: &Simple) {
        let runs = |word: &&Word| {
            matches!(
                word.text.as_str(),
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X"
            )
        };
        let mut rest = arguments;
        while let Some(at) = rest.iter().position(|word| runs(&word)) {
            rest = &rest[at + 1..];
            let end = rest
                .iter()
                .position(|word| matches!(word.text.as_str(), ";" | "+"))
                .unwrap_or(rest.len());
            self.add_words(&rest[..end], command);
        }
    }

    /// `docker exec NAME sh -c …`: what runs there is a command too.
    fn add_in_container(&mut self, arguments: &[Word], command: &Simple) {
        if !arguments
            .iter()
            .any(|word| matches!(word.text.as_str(), "exec" | "run"))
        {
            return;
        }
        let is_start = |word: &Word| is_shell(name_of(&word.text));
        if let Some(at) = arguments.iter().position(is_start) {
            self.add_words(&arguments[at..], command);
        }
    }

    /// `bash -c …`, `echo … | sh`, `sh <<END`.
    fn add_shell(&mut self, arguments: &[Word], command: &Simple) {
        let is_c = |word: &Word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c')
        };
        if let Some(at) = arguments.iter().position(is_c) {
            if let Some(script) = arguments[at + 1..]
                .iter()
                .find(|word| !word.text.starts_with('-'))
            {
                self.read_within(&script.text, command);
            }
            return;
        }
        let given = command.program.iter().chain(&command.fed);
        let mut texts: Vec<String> = given.map(|text| text.text.clone()).collect();
        for index in &command.input {
            let Some(earlier) = self.script.commands.get(*index) else {
                continue;
            };
            texts.extend(printed(&earlier.words).map(|text| text.text));
            if earlier.verb() == "cat" {
                texts.extend(earlier.fed.iter().map(|fed| fed.text.clone()));
            }
        }
        for text in texts {
            self.read_program(&text);
        }
    }

    pub(super) fn add_words(&mut self, words: &[Word], around: &Simple) {
        match words {
            [] => return,
            // A whole script, as `ssh` and `watch` take it.
            [script] if script.text.contains(char::is_whitespace) => {
                self.read(&script.text);
                return;
            }
            _ => {}
        }
        let inner = Simple {
            words: words.to_vec(),
            input: around.input.clone(),
            fed: around.fed.clone(),
            is_inner: true,
            ..Simple::default()
        };
        self.nested(|reader| reader.add(inner));
    }
}

/// The interpreter that `xargs` gives what it reads as a program: `sh -c`, `sh -c {}`.
fn runner_of_input(options: &[Word], command: &[Word]) -> Option<Word> {
    let program = command.first()?;
    let named = options.iter().find_map(|option| option.text.strip_prefix("-I"));
    let sign = match named {
        Some("") => &behind(options, "-I")?.text,
        Some(sign) => sign,
        None => "{}",
    };
    let takes_program = |word: &Word| word.text.starts_with('-') && word.text.ends_with(['c', 'e']);
    let at = command.iter().position(takes_program)?;
    let code = command.get(at + 1);
    let is_read = code.is_none_or(|code| code.text.trim_start().starts_with(sign));
    (is_read && is_interpreter(name_of(&program.text))).then(|| program.clone())
}

/// The argument behind an option, or joined to it.
fn behind<'w>(arguments: &'w [Word], option: &str) -> Option<&'w Word> {
    let at = arguments.iter().position(|word| word.text == option)?;
    arguments.get(at + 1)
}
