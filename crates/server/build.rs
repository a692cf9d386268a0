//! Puts the built web app into the program. Without it (`make web` has not run) the list is empty.
#![allow(clippy::print_stdout)] // this is how cargo is spoken to

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // Asked for now: a build that is shared by two checkouts may run what was compiled in the other one.
    let here =
        env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| io::Error::other("cargo sets CARGO_MANIFEST_DIR"))?;
    let dist = Path::new(&here).join("../../web/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let site = dist.join("site");
    let mut files = Vec::new();
    if site.is_dir() {
        list(&site, &mut files)?;
    }
    files.sort();
    let mut table = String::from("&[\n");
    for file in files
        .iter()
        .filter(|file| file.extension().is_none_or(|end| end != "gz"))
    {
        let path = file.strip_prefix(&site).map_err(io::Error::other)?;
        let mut packed = file.clone().into_os_string();
        packed.push(".gz");
        let packed = files.iter().find(|other| other.as_os_str() == packed);
        let packed = packed.map_or("None".to_owned(), |packed| {
            format!("Some(include_bytes!(\"{}\"))", packed.display())
        });
        writeln!(
            table,
            "    File {{ path: \"/{}\", plain: include_bytes!(\"{}\"), gzip: {packed} }},",
            path.display(),
            file.display()
        )
        .map_err(io::Error::other)?;
    }
    table.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("site.rs"), table)
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
