//! What people say to an agent of theirs once and for all.

/// What stands in the prompt of an agent, or is said with every message, beside the task itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brief {
    /// Stands in the place of our own prompt.
    pub prompt: Option<String>,
    /// Who the agent is, and how it is to go about its tasks.
    pub role: Option<String>,
    /// The skills that stand in the prompt whole.
    pub skills: Vec<String>,
    /// Added to the prompt as it is.
    pub suffix: Option<String>,
    /// Added to each message of the user's, for the model alone.
    pub message_suffix: Option<String>,
    /// The secrets that commands may use, and what each is for.
    pub secrets: Vec<(String, Option<String>)>,
}

impl Brief {
    /// What it adds to the prompt.
    pub(crate) fn in_prompt(&self) -> impl Iterator<Item = String> {
        let role = self.role.as_ref().map(|text| format!("<role>\n{text}\n</role>"));
        role.into_iter()
            .chain(self.skills.clone())
            .chain(self.suffix.clone())
            .chain(self.secrets())
    }

    fn secrets(&self) -> Option<String> {
        let line = |(name, description): &(String, Option<String>)| match description {
            Some(description) => format!("- {name}: {description}\n"),
            None => format!("- {name}\n"),
        };
        let lines: String = self.secrets.iter().map(line).collect();
        (!lines.is_empty()).then(|| {
            format!(
                "<secrets>\nThe user has entrusted these to you. A command in which the name of one stands has it as an \
                 environment variable: write $NAME. You never see the values, and need not; they are hidden in all \
                 output.\n{lines}</secrets>"
            )
        })
    }
}
