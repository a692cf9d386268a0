//! What a model gets to read of a tool's answer.

use deft_types::{BrowserObservation, Content, ImageContent, Observation, TerminalObservation};

/// The parts of a tool message.
pub(crate) fn for_model(observation: &Observation) -> Vec<Content> {
    let mut parts = match observation {
        Observation::Terminal(terminal) => vec![Content::text(terminal_text(terminal))],
        Observation::Browser(browser) => with_screenshot(browser),
        other => other.content(),
    };
    if observation.is_error() {
        parts.insert(0, Content::text("[The tool reports an error.]"));
    }
    parts
}

/// The picture stands in a field of its own, so that an event does not hold it twice.
fn with_screenshot(browser: &BrowserObservation) -> Vec<Content> {
    let image = browser.screenshot_data.as_ref().map(|data| {
        Content::Image(ImageContent {
            image_urls: vec![format!("data:{};base64,{data}", image_type(data))],
            ..ImageContent::default()
        })
    });
    browser.content.iter().cloned().chain(image).collect()
}

/// What base64 of a picture begins with; logs of others may have any of these.
fn image_type(data: &str) -> &'static str {
    match data {
        data if data.starts_with("/9j/") => "image/jpeg",
        data if data.starts_with("R0lGOD") => "image/gif",
        data if data.starts_with("UklGR") => "image/webp",
        _ => "image/png",
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screenshot_is_shown_behind_the_text() {
        let seen = BrowserObservation {
            content: vec![Content::text("the page")],
            screenshot_data: Some("/9j/4AAQ".to_owned()),
            ..BrowserObservation::default()
        };
        let parts = for_model(&seen.into());
        assert_eq!(parts[0], Content::text("the page"));
        let Content::Image(image) = &parts[1] else {
            panic!("{parts:?}")
        };
        assert_eq!(image.image_urls, ["data:image/jpeg;base64,/9j/4AAQ"]);
    }
}
