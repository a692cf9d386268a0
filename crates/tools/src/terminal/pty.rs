//! The terminal's modes.

use std::io;
use std::os::fd::OwnedFd;

use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, Termios, tcgetattr, tcsetattr,
};

use super::prompt::Input;

/// Modes in which output comes as it was written, input is not echoed, and control keys send signals.
pub(super) fn modes(terminal: &OwnedFd) -> io::Result<Termios> {
    let mut modes = tcgetattr(terminal)?;
    modes.input_modes = InputModes::ICRNL | InputModes::IUTF8;
    modes.output_modes = OutputModes::empty();
    modes.control_modes = ControlModes::CS8 | ControlModes::CREAD | ControlModes::HUPCL;
    // Without NOFLSH a control key would throw away output that is not read yet.
    modes.local_modes = LocalModes::ISIG | LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::NOFLSH;
    apply(terminal, &modes)?;
    Ok(modes)
}

/// What a program has made of the modes.
pub(super) fn input(terminal: &OwnedFd) -> Input {
    match tcgetattr(terminal) {
        Ok(modes) if !modes.local_modes.contains(LocalModes::ICANON) => Input::Keys,
        Ok(_) | Err(_) => Input::Lines,
    }
}

/// Sets the modes, whatever a program has made of them.
pub(super) fn apply(terminal: &OwnedFd, modes: &Termios) -> io::Result<()> {
    Ok(tcsetattr(terminal, OptionalActions::Now, modes)?)
}
