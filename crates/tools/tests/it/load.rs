//! Nothing is lost, mixed up or guessed, however busy the machine is.

use std::process::{Child, Command};

use super::bench::{Bench, text};

const COMMANDS: usize = 20_000;
const SHELLS: usize = 4;
const BUSY_PROCESSES: usize = 4;

/// Processes that do nothing but use up time.
struct Load(Vec<Child>);

impl Load {
    fn start() -> Self {
        let busy = || {
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
                .unwrap()
        };
        Self((0..BUSY_PROCESSES).map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_thousand_commands_under_load_give_their_own_output_and_exit_code() {
    let _load = Load::start();
    let shells = (0..SHELLS).map(|shell| {
        tokio::spawn(async move {
            let bench = Bench::new();
            for number in 0..COMMANDS / SHELLS {
                let status = number % 256;
                let seen = bench.sh(&format!("echo {shell}-{number}; (exit {status})")).await;
                assert_eq!(text(&seen), format!("{shell}-{number}"));
                assert_eq!(seen.exit_code, Some(i64::try_from(status).unwrap()));
                assert_eq!(seen.metadata.prefix, "");
            }
            bench.toolbox.close().await;
        })
    });
    for shell in shells.collect::<Vec<_>>() {
        shell.await.unwrap();
    }
}
