//! What is put into a new container, as the tar archive that the engine takes.

use bytes::Bytes;

/// Archives are made of blocks of this size.
const BLOCK: usize = 512;
/// Two empty blocks end an archive.
const END: usize = 2 * BLOCK;

/// Who owns a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// The first user, who owns what nobody in the container may change.
pub(crate) const ROOT: Owner = Owner { user: 0, group: 0 };

/// Writes a tar archive.
#[derive(Default)]
pub(crate) struct Archive(Vec<u8>);

impl Archive {
    pub(crate) fn directory(&mut self, path: &str, mode: u32, owner: Owner) {
        self.header(&format!("{path}/"), mode, owner, 0, b'5');
    }

    pub(crate) fn file(&mut self, path: &str, mode: u32, owner: Owner, content: &[u8]) {
        self.header(path, mode, owner, content.len() as u64, b'0');
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(BLOCK), 0);
    }

    pub(crate) fn finish(mut self) -> Bytes {
        self.0.resize(self.0.len() + END, 0);
        self.0.into()
    }

    fn header(&mut self, path: &str, mode: u32, owner: Owner, size: u64, kind: u8) {
        let mut header = [0; BLOCK];
        header[..path.len()].copy_from_slice(path.as_bytes()); // ours are all short
        number(&mut header[100..108], mode.into());
        number(&mut header[108..116], owner.user.into());
        number(&mut header[116..124], owner.group.into());
        number(&mut header[124..136], size);
        number(&mut header[136..148], 0); // the time
        header[156] = kind;
        header[257..265].copy_from_slice(b"ustar\x0000");
        // The sum is made as if its own field were blank.
        header[148..156].fill(b' ');
        let sum: u64 = header.iter().map(|&byte| u64::from(byte)).sum();
        number(&mut header[148..155], sum);
        self.0.extend_from_slice(&header);
    }
}

/// Octal digits with a zero byte behind; or, where they do not suffice (a directory service may hand out users
/// beyond two million), the bytes of the number with the first bit set.
fn number(field: &mut [u8], value: u64) {
    let digits = field.len() - 1;
    let octal = format!("{value:0digits$o}");
    if octal.len() == digits {
        field[..digits].copy_from_slice(octal.as_bytes());
    } else {
        let bytes = value.to_be_bytes();
        let skip = field.len().saturating_sub(bytes.len());
        let from = bytes.len().saturating_sub(field.len());
        field[skip..].copy_from_slice(&bytes[from..]);
        field[0] |= 0x80;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn tar_reads_what_was_written_even_with_a_large_user_number() {
        let owner = Owner {
            user: 3_000_000_000,
            group: 7,
        };
        let mut archive = Archive::default();
        archive.directory("a", 0o700, owner);
        archive.file("a/b", 0o755, ROOT, &[b'x'; 700]);
        let mut tar = Command::new("tar")
            .args(["--numeric-owner", "-tvf", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        tar.stdin.take().unwrap().write_all(&archive.finish()).unwrap();
        let output = tar.wait_with_output().unwrap();
        assert!(output.status.success());
        let listed = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Vec<&str>> = listed
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0][..3], ["drwx------", "3000000000/7", "0"]);
        assert_eq!(lines[1][..3], ["-rwxr-xr-x", "0/0", "700"]);
        assert_eq!((lines[0][5], lines[1][5]), ("a/", "a/b"));
    }
}
