//! What an executor is told when it is started, wherever that is.

use std::time::Duration;

/// How an executor behaves.
#[derive(Clone, Debug)]
pub struct Terms {
    /// How long it outlives its last client.
    pub linger: Duration,
    /// How long a command may be silent before the agent is told.
    pub quiet_limit: Duration,
    /// What `fetch` and pages in the browser may reach, as the `executor` command calls it; none: what is usual.
    pub web_addresses: Option<&'static str>,
}

impl Default for Terms {
    fn default() -> Self {
        Terms {
            linger: Duration::from_mins(5),
            quiet_limit: Duration::from_secs(30),
            web_addresses: None,
        }
    }
}

impl Terms {
    /// These, as the `executor` command takes them.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "--linger".to_owned(),
            self.linger.as_secs().to_string(),
            "--quiet-limit".to_owned(),
            self.quiet_limit.as_secs().to_string(),
        ];
        if let Some(which) = self.web_addresses {
            arguments.extend(["--web-addresses".to_owned(), which.to_owned()]);
        }
        arguments
    }
}
