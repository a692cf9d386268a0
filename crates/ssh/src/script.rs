//! What is run on the other machine: short scripts for any POSIX shell.

use deft_executor::END_SCRIPT;
use deft_types::ConversationId;
use deft_workspace::Terms;

/// A script's exit code when this version of our program is not there.
pub(crate) const NOT_THERE: i32 = 97;
/// A script's exit code when the machine is of another kind; it says which.
pub(crate) const OTHER_PLATFORM: i32 = 98;

/// The system and processor that this program is for, as `uname -sm` says it.
pub(crate) fn platform() -> String {
    format!("Linux {}", std::env::consts::ARCH)
}

/// Our places on the other machine.
pub(crate) struct Places {
    /// The hash of our program, which tells versions apart.
    pub(crate) hash: String,
    /// The conversation.
    pub(crate) conversation: ConversationId,
}

impl Places {
    fn variables(&self) -> String {
        let (hash, conversation) = (&self.hash, self.conversation.hex());
        format!(
            "cache=\"$HOME/.cache/deft\"; program=\"$cache/{hash}/deft\"; run=\"$cache/run\"; \
             place=\"$run/{conversation}\"; umask 077;\n"
        )
    }

    /// Joins the executor, which is started if it does not run.
    pub(crate) fn attach(&self, root: &str, terms: &Terms) -> String {
        format!(
            "{}[ -x \"$program\" ] || exit {NOT_THERE}\nmkdir -p \"$run\" && exec \"$program\" executor attach \
             --directory \"$place\" --workspace {} {}",
            self.variables(),
            quote(root),
            terms.arguments().join(" ")
        )
    }

    /// Joins the executor if one runs. It may be of another version, and so is the program then that is there.
    pub(crate) fn join(&self) -> String {
        format!(
            "{}for program in \"$program\" \"$cache\"/*/deft; do [ ! -x \"$program\" ] || break; done\n\
             [ -x \"$program\" ] && [ -S \"$place/socket\" ] || exit {NOT_THERE}\nexec \"$program\" executor join \
             --directory \"$place\" --wait 1",
            self.variables()
        )
    }

    /// Takes our program from its input. It is in its place only when all of it has arrived.
    pub(crate) fn receive(&self, bytes: u64) -> String {
        format!(
            "{}[ \"$(uname -sm)\" = {} ] || {{ uname -sm >&2; exit {OTHER_PLATFORM}; }}\n\
             mkdir -p \"${{program%/*}}\" || exit 1\nnew=\"$program.$$\"; trap 'rm -f \"$new\"' EXIT\n\
             cat >\"$new\" && [ \"$(wc -c <\"$new\")\" -eq {bytes} ] && chmod 700 \"$new\" && mv -f \"$new\" \"$program\"",
            self.variables(),
            quote(&platform())
        )
    }

    /// Ends what an executor has left that was killed, deletes what is kept for the conversation, and our programs with
    /// the last one.
    pub(crate) fn remove(&self) -> String {
        format!(
            "{}{END_SCRIPT}rm -rf \"$place\"; [ ! -d \"$run\" ] || rmdir \"$run\" 2>/dev/null || exit 0\n\
             for program in \"$cache\"/*/deft; do rm -f \"$program\"; rmdir \"${{program%/*}}\" 2>/dev/null; done\n\
             rmdir \"$cache\" 2>/dev/null; exit 0",
            self.variables()
        )
    }
}

/// Whether a directory is there.
pub(crate) fn is_directory(path: &str) -> String {
    let path = quote(path);
    format!("[ -d {path} ] || {{ printf '%s is not there, or no directory\\n' {path} >&2; exit 1; }}")
}

/// The command that runs a script, whichever shell the user has there.
pub(crate) fn command(script: &str) -> String {
    format!("exec sh -c {}", quote(script))
}

/// One word for a shell, whatever is in it.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::process::Command;

    use super::*;

    #[test]
    fn a_word_reaches_the_inner_script_as_it_is() {
        for word in [
            "plain",
            "with space",
            "it's",
            "$HOME `id` \"x\" \\ * ; & |",
            "-n",
            "",
            "line\nbreak",
        ] {
            let script = format!("printf %s {}", quote(word));
            let output = Command::new("sh")
                .args(["-c", &command(&script)])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
