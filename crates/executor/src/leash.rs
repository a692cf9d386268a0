//! Holds what somebody has started to the life of whoever wanted it.

use deft_tools::Family;
use rustix::process::{Pid, Signal, kill_process_group};

/// A process and all that it has started. Dropping it kills them.
pub(crate) struct Leash(pub(crate) Family);

impl Drop for Leash {
    fn drop(&mut self) {
        if let Some(group) = self.0.shell.and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            let _ = kill_process_group(group, Signal::KILL); // none left is fine
        }
        // What has left the group is found by its mark, which takes a walk over all processes.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let family = self.0.clone();
            runtime.spawn(async move { family.kill().await });
        }
    }
}
