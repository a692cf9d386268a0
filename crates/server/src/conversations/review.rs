//! What a person does about an agent's work: answer what waits, and take files back.

use deft_engine::Answer;
use deft_tools::{Change, CheckpointId, Overwrite, Restored};
use deft_types::ActionId;

use super::Conversations;
use crate::failure::Failure;
use crate::resident::Resident;

impl Conversations {
    /// Carries out what was decided about the actions that wait.
    pub(crate) async fn answer(
        &self,
        resident: &Resident,
        answers: Vec<(ActionId, Answer)>,
    ) -> Result<(), Failure> {
        let runs = answers
            .iter()
            .any(|(_, answer)| !matches!(answer, Answer::Reject { .. }));
        if runs {
            self.take_place(resident)?;
        }
        let answered = match self.engine(resident).await {
            Ok(engine) => self.checked(resident, engine.respond(answers).await),
            Err(failure) => Err(failure),
        };
        if runs {
            if answered.is_err() {
                resident.begin_no_run();
            }
            resident.answered();
        }
        answered?;
        resident.tell_state();
        Ok(())
    }

    /// What going back to a checkpoint would change.
    pub(crate) async fn preview_files(
        &self,
        resident: &Resident,
        to: CheckpointId,
    ) -> Result<Vec<Change>, Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.preview_files(to).await)
    }

    /// Makes the files what they were at a checkpoint.
    pub(crate) async fn restore_files(
        &self,
        resident: &Resident,
        to: CheckpointId,
        overwrite: Overwrite,
    ) -> Result<Restored, Failure> {
        let engine = self.engine(resident).await?;
        self.checked(resident, engine.restore_files(to, overwrite).await)
    }
}
