//! Writes zip archives, file by file, without compression: nothing has to be known of the whole in advance.

use bytes::{BufMut as _, Bytes, BytesMut};

/// The version of the format that a reader needs: plain files.
const VERSION: u16 = 20;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
/// The first of January 1980: the format knows no earlier day, and ours is not worth telling.
const DAY: u16 = 0x21;
/// What the format can count to. More files are left out of the list, larger archives cannot be addressed.
const MAX_FILES: usize = u16::MAX as usize;

/// An archive that is being written.
#[derive(Default)]
pub(crate) struct Zip {
    list: BytesMut,
    files: usize,
    written: u64,
}

impl Zip {
    /// The bytes of one more file. Empty, where the format can hold no more.
    pub(crate) fn file(&mut self, name: &str, content: &[u8]) -> Bytes {
        let (Ok(size), Ok(place), Ok(length)) = (
            u32::try_from(content.len()),
            u32::try_from(self.written),
            u16::try_from(name.len()),
        ) else {
            return Bytes::new();
        };
        if self.files == MAX_FILES {
            return Bytes::new();
        }
        let mut facts = BytesMut::new();
        for number in [VERSION, UTF8, 0, 0, DAY] {
            facts.put_u16_le(number);
        }
        for number in [crc32fast::hash(content), size, size] {
            facts.put_u32_le(number);
        }
        facts.put_u16_le(length);
        facts.put_u16_le(0);

        self.list.put_slice(b"PK\x01\x02");
        self.list.put_u16_le(VERSION);
        self.list.put_slice(&facts);
        self.list.put_slice(&[0; 10]); // no comment, the first disk, no attributes
        self.list.put_u32_le(place);
        self.list.put_slice(name.as_bytes());
        self.files += 1;

        let mut bytes = BytesMut::with_capacity(content.len() + name.len() + 30);
        bytes.put_slice(b"PK\x03\x04");
        bytes.put_slice(&facts);
        bytes.put_slice(name.as_bytes());
        bytes.put_slice(content);
        self.written += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        bytes.freeze()
    }

    /// The list of all files, which ends the archive.
    pub(crate) fn end(self) -> Bytes {
        let files = u16::try_from(self.files).unwrap_or(u16::MAX);
        let size = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let place = u32::try_from(self.written).unwrap_or(u32::MAX);
        let mut bytes = self.list;
        bytes.put_slice(b"PK\x05\x06");
        for number in [0, 0, files, files] {
            bytes.put_u16_le(number);
        }
        bytes.put_u32_le(size);
        bytes.put_u32_le(place);
        bytes.put_u16_le(0);
        bytes.freeze()
    }
}
