//! Commands that need not be asked for again.

use deft_engine::AllowScope;

use super::Conversations;
use crate::failure::Failure;
use crate::resident::Resident;

impl Conversations {
    /// Lets commands that begin so run without asking.
    pub(crate) async fn allow(
        &self,
        resident: &Resident,
        rule: &str,
        scope: AllowScope,
    ) -> Result<(), Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.allow(rule, scope).await)
    }

    /// Takes such a rule back; whether there was one.
    pub(crate) async fn disallow(&self, resident: &Resident, rule: &str) -> Result<bool, Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.disallow(rule.to_owned()).await)
    }
}
