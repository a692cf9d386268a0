//! Pieces of output, and how they go over a stream.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Something that a command wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputChunk {
    /// 0, 1, 2 …; a gap means that nobody followed and there was too much to keep.
    pub order: u64,
    /// To where.
    pub channel: OutputChannel,
    /// What.
    pub bytes: Bytes,
}

/// Where a command writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputChannel {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl OutputChunk {
    pub(super) fn to_piece(&self) -> Bytes {
        let mut piece = BytesMut::with_capacity(9 + self.bytes.len());
        piece.put_u8(match self.channel {
            OutputChannel::Stdout => 1,
            OutputChannel::Stderr => 2,
        });
        piece.put_u64(self.order);
        piece.put_slice(&self.bytes);
        piece.freeze()
    }

    pub(crate) fn from_piece(mut piece: Bytes) -> Option<Self> {
        let channel = match piece.try_get_u8().ok()? {
            1 => OutputChannel::Stdout,
            2 => OutputChannel::Stderr,
            _ => return None,
        };
        Some(Self {
            order: piece.try_get_u64().ok()?,
            channel,
            bytes: piece,
        })
    }
}
