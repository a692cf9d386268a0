//! Why the browser could not do what it was asked.

use std::time::Duration;

use super::connection::CallError;
use super::tabs::MAX_TABS;
use crate::web_address::BadAddress;

/// Why the browser could not do what it was asked. The message goes to the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error(
        "There is no Chromium on this machine. Install one and call this again: `apt-get install chromium` (Debian, \
         Ubuntu), `dnf install chromium` (Fedora) or `npx playwright install --with-deps chromium`. For pages that \
         need no scripts, `fetch` does without."
    )]
    NoChromium,
    #[error("Chromium ({program}) could not be started: {reason}.")]
    Start { program: String, reason: String },
    #[error("The browser ended while it worked on this. The next call starts it again, without its tabs.")]
    Gone,
    #[error("The page crashed. The next call gets an empty tab in its place.")]
    Crashed,
    #[error(
        "The page did not answer within {} s, so its tab was closed; another one is open now. What the page was doing \
         is lost: open its address again, or another one.",
        .0.as_secs_f64()
    )]
    Unresponsive(Duration),
    #[error("Cancelled. The page may have begun to do what it was asked.")]
    Cancelled,
    #[error("{0}")]
    BadAddress(#[from] BadAddress),
    #[error("{url} could not be opened: {reason}.")]
    NotOpened { url: String, reason: String },
    #[error(
        "Element with index {0} not found: the page has changed, or was not looked at yet. Call browser_get_state for the elements that are there now."
    )]
    NoElement(i64),
    #[error("Element {0} is disabled or read-only.")]
    Disabled(i64),
    #[error("Element {0} takes no text; click it instead.")]
    NotText(i64),
    #[error("Element {0} is a select: choose an option by its text with browser_type.")]
    IsSelect(i64),
    #[error(
        "Element {0} takes a file, which these tools cannot give it; send the file with the terminal, for instance by curl."
    )]
    IsFile(i64),
    #[error("Element {index} has no such option. It has: {options}.")]
    NoOption { index: i64, options: String },
    #[error("There is no tab `{0}`; browser_list_tabs shows those that are there.")]
    NoTab(String),
    #[error("There are {MAX_TABS} tabs already; close one first.")]
    TooManyTabs,
    #[error("There is no page to go back to.")]
    NoHistory,
    #[error("`storage_state` is not as browser_get_storage shows it: {0}.")]
    BadStorage(String),
    #[error("{0}")]
    Recording(&'static str),
    #[error("Could not {doing}: {source}.")]
    Io { doing: String, source: std::io::Error },
    #[error("The browser refused: {0}.")]
    Refused(String),
}

impl Problem {
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Gone => Self::Gone,
            CallError::Refused(reason) => Self::Refused(reason),
        }
    }
}
