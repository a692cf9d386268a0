//! Files as the tools see them: text on the way in, the same encoding, line ends and mode on the way out.
//!
//! `read` refuses what is no text file, `text` turns bytes into text and back without loss, `save` puts them into
//! place, `resolve` tells where a path leads in the end.

pub(crate) mod numbered;
pub(crate) mod read;
pub(crate) mod resolve;
pub(crate) mod save;
pub(crate) mod text;
