//! What a model gets to read of a tool's answer.

use deft_types::{Content, Observation, TerminalObservation};

/// The parts of a tool message.
pub(crate) fn for_model(observation: &Observation) -> Vec<Content> {
    let mut parts = match observation {
        Observation::Terminal(terminal) => vec![Content::text(terminal_text(terminal))],
        other => other.content(),
    };
    if observation.is_error() {
        parts.insert(0, Content::text("[The tool reports an error.]"));
    }
    parts
}

fn terminal_text(terminal: &TerminalObservation) -> String {
    let metadata = &terminal.metadata;
    let mut text = metadata.prefix.clone();
    text.push_str(&deft_types::text_of(&terminal.content));
    text.push_str(&metadata.suffix);
    if let Some(directory) = &metadata.working_dir {
        text.push_str(&format!("\n[Working directory: {directory}]"));
    }
    if let Some(python) = &metadata.py_interpreter_path {
        text.push_str(&format!("\n[Python: {python}]"));
    }
    if let Some(code) = terminal.exit_code.filter(|code| *code != -1) {
        text.push_str(&format!("\n[Exit code: {code}]"));
    }
    text
}
