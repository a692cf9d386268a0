//! Hosts that programs of a workspace wait for.

use deft_engine::HostAnswer;
use deft_workspace::egress::AskedHost;

use super::Conversations;
use crate::failure::Failure;
use crate::resident::Resident;

impl Conversations {
    /// The hosts that programs wait for. Where no engine runs, nothing does.
    pub(crate) async fn host_questions(&self, resident: &Resident) -> Vec<AskedHost> {
        let Some(running) = resident.engine.get() else {
            return Vec::new();
        };
        let state = running.conversation.inspect().await;
        state.map(|state| state.host_questions).unwrap_or_default()
    }

    /// Carries out what a person decided about one.
    pub(crate) async fn answer_host(
        &self,
        resident: &Resident,
        asked: AskedHost,
        answer: HostAnswer,
    ) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.answer_host(asked, answer).await)
    }

    /// Asks for one again that was allowed; whether it was.
    pub(crate) async fn disallow_host(&self, resident: &Resident, host: &str) -> Result<bool, Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.disallow_host(host.to_owned()).await)
    }
}
