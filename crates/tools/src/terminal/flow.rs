//! The way of a command's output: secrets are hidden first, then it goes to whoever watches, as it is, and to the
//! screen or the capture that the observation is made of.

use super::capture::{Batch, Capture};
use super::display::Display;
use crate::{MaskedStream, OutputSink, Secrets};

/// Where output goes.
pub(super) struct Flow {
    secrets: Secrets,
    masked: MaskedStream,
    pub(super) sink: OutputSink,
    pub(super) display: Display,
    pub(super) capture: Capture,
}

impl Flow {
    pub(super) fn new(secrets: Secrets, capture: Capture) -> Self {
        Self {
            secrets,
            masked: MaskedStream::default(),
            sink: OutputSink::none(),
            display: Display::default(),
            capture,
        }
    }

    /// Takes in output.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let Self {
            secrets,
            masked,
            sink,
            display,
            capture,
        } = self;
        masked.push(&secrets.mask(), bytes, |bytes| {
            sink.send(bytes);
            display.feed(bytes, |text| capture.push(text));
        });
    }

    /// The command has ended: nothing that is held back can become anything else.
    pub(super) fn end(&mut self) {
        let Self {
            secrets,
            masked,
            sink,
            display,
            capture,
        } = self;
        masked.end(&secrets.mask(), |bytes| {
            sink.send(bytes);
            display.feed(bytes, |text| capture.push(text));
        });
        display.end(|text| capture.push(text));
    }

    /// What is to be written to a file now, if it is enough.
    pub(super) fn due(&mut self) -> Option<Batch> {
        self.capture.due()
    }
}
