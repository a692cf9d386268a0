//! What the numbers were measured on.

use std::fmt;
use std::fs;
use std::time::SystemTime;

use deft_types::Timestamp;

/// This machine, when the measuring began.
pub(crate) struct Machine {
    processor: String,
    cores: usize,
    memory_kib: u64,
    kernel: String,
    load: String,
    date: String,
}

impl Machine {
    pub(crate) fn look() -> Self {
        let load = read("/proc/loadavg");
        Self {
            processor: field("/proc/cpuinfo", "model name")
                .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_kib: kibibytes("/proc/meminfo", "MemTotal").unwrap_or(0),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
            date: Timestamp::at(SystemTime::now()).0.chars().take(10).collect(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "- Processor: {}, {} cores", self.processor, self.cores)?;
        writeln!(f, "- Memory: {} GiB", self.memory_kib.div_ceil(1024 * 1024))?;
        writeln!(f, "- Kernel: Linux {}", self.kernel)?;
        writeln!(f, "- Load average when it began: {}", self.load)?;
        writeln!(f, "- Date: {}", self.date)?;
        writeln!(f, "- Command: `make bench`")
    }
}

/// A number of kibibytes from a file of `/proc` whose lines are `name: value kB`.
pub(crate) fn kibibytes(file: &str, name: &str) -> Option<u64> {
    field(file, name)?.strip_suffix(" kB")?.parse().ok()
}

fn field(file: &str, name: &str) -> Option<String> {
    read(file).lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

/// What cannot be read is left out of the report; it is no reason not to measure.
fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}
