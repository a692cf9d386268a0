//! Commands in a skill's text whose output is to stand in their place: `` !`git status` ``.

use std::ops::Range;

/// The text of a skill, and the commands in it. None has been run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoked {
    /// The text, commands as they are written.
    pub text: String,
    /// Where commands stand, in order.
    pub commands: Vec<DynamicCommand>,
}

/// A command in a skill's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicCommand {
    /// Where in the text it stands, with its marks.
    pub range: Range<usize>,
    /// What is to be run, if the skill may.
    pub command: String,
}

impl Invoked {
    /// Finds the commands of `body`. What is in code is left alone, and so is what is escaped. `footer` is ours.
    pub(crate) fn new(body: &str, footer: &str) -> Self {
        let mut text = String::with_capacity(body.len() + footer.len());
        let mut commands = Vec::new();
        let mut fence: Option<&str> = None;
        for line in body.split_inclusive('\n') {
            let start = line.trim_start();
            let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
            match (fence, mark) {
                (None, Some(mark)) => fence = Some(mark),
                (Some(open), Some(mark)) if open == mark => fence = None,
                (None, None) => {
                    scan(line, &mut text, &mut commands);
                    continue;
                }
                (Some(_), _) => {}
            }
            text.push_str(line);
        }
        text.push_str(footer);
        Self { text, commands }
    }

    /// The text with what `output` says in the place of each command.
    pub fn expanded(&self, mut output: impl FnMut(&str) -> String) -> String {
        let mut text = String::new();
        let mut from = 0;
        for command in &self.commands {
            text.push_str(&self.text[from..command.range.start]);
            text.push_str(&output(&command.command));
            from = command.range.end;
        }
        text.push_str(&self.text[from..]);
        text
    }
}

fn scan(line: &str, text: &mut String, commands: &mut Vec<DynamicCommand>) {
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at(at);
        let Some(end) = from[1..].find('`').map(|end| end + 1) else {
            break;
        };
        let (code, more) = from.split_at(end + 1);
        let is_command = before.ends_with('!') && code.len() > 2;
        if let Some(unescaped) = before.strip_suffix("\\!") {
            text.push_str(unescaped);
            text.push('!');
            text.push_str(code);
        } else {
            text.push_str(before);
            if is_command {
                let start = text.len() - 1;
                let range = start..text.len() + code.len();
                let command = code.trim_matches('`').to_owned();
                commands.push(DynamicCommand { range, command });
            }
            text.push_str(code);
        }
        rest = more;
    }
    text.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_outside_of_code_only() {
        let body =
            "On !`git branch` by !`whoami`.\n`code` ! `no` \\!`escaped`\n```\n!`fenced`\n```\n~~~\n!`open`\n";
        let invoked = Invoked::new(body, "\nfooter");
        let commands: Vec<_> = invoked
            .commands
            .iter()
            .map(|command| command.command.as_str())
            .collect();
        assert_eq!(commands, ["git branch", "whoami"]);
        assert!(invoked.text.contains("`no` !`escaped`"));
        let text = invoked.expanded(|command| format!("<{command}>"));
        assert!(text.starts_with("On <git branch> by <whoami>.\n"));
        assert!(text.ends_with("!`open`\n\nfooter"));
    }
}
