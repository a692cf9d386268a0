//! The way to the executor, and what is to be known of it before it gets a call.

use deft_executor::Client;
use deft_store::StoreError;
use deft_types::{Classification, FailureKind, McpServerStatus, ToolSpec};

use super::Actor;
use super::work::{ConnectError, Work};

impl Actor {
    /// Begins to reach the executor.
    pub(crate) fn connect(&mut self) {
        self.news.beside_again = false;
        let mut outfit = self.outfit.clone();
        if let Some(servers) = &mut outfit.servers {
            let approved = std::mem::replace(&mut servers.approvals, self.state.seen_servers());
            servers.approvals.extend(approved);
        }
        self.work = Some(Work::connect(
            self.workspace.clone(),
            outfit,
            self.live.clone(),
            self.world.clone(),
        ));
    }

    /// Takes an executor that was reached, or fails with why none was.
    pub(super) async fn take_connection(
        &mut self,
        connected: Result<(Client, Option<Vec<McpServerStatus>>), ConnectError>,
    ) -> Result<(), StoreError> {
        let (client, servers) = match connected {
            Ok(connected) => connected,
            Err(error) => return self.fail_to_connect(error.to_string()).await,
        };
        if let Some(servers) = servers {
            self.news.beside = client.mcp_changes();
            self.take_servers(servers).await?;
        }
        let offered = &client.hello().tools;
        let wanted = self.tools.of_executor().iter().map(ToolSpec::name);
        let mut missing = wanted.filter(|name| !offered.iter().any(|tool| tool.name() == *name));
        if let Some(missing) = missing.next() {
            let detail = format!(
                "The executor has no tool '{missing}': it is of another version. End it and run again."
            );
            return self.fail_to_connect(detail).await;
        }
        let instance = client.hello().instance;
        // Stored before the first call: whoever finds that call open later knows where to ask.
        if self.state.executor != Some(instance) {
            self.record_executor(instance).await?;
        }
        client.set_secrets(self.outfit.secrets.values.clone()).await; // others may have come meanwhile
        self.executor = Some(client);
        self.hear_questions().await;
        Ok(())
    }

    async fn fail_to_connect(&mut self, detail: String) -> Result<(), StoreError> {
        let kind = Classification::of(FailureKind::Config);
        self.fail("WorkspaceError", detail, kind).await
    }
}
