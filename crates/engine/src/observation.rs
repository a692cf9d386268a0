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
    let exit_code = terminal.exit_code.filter(|code| *code != -1);
    let notes = [
        metadata
            .working_dir
            .as_ref()
            .map(|directory| format!("\n[Working directory: {directory}]")),
        metadata
            .py_interpreter_path
            .as_ref()
            .map(|python| format!("\n[Python: {python}]")),
        exit_code.map(|code| format!("\n[Exit code: {code}]")),
    ];
    let output = deft_types::text_of(&terminal.content);
    [metadata.prefix.clone(), output, metadata.suffix.clone()]
        .into_iter()
        .chain(notes.into_iter().flatten())
        .collect()
}
