//! What a person does about an agent's work: answer what waits, and take files back.

use deft_engine::Answer;
use deft_tools::{Change, CheckpointId, Overwrite, Restored};
use deft_types::{ActionId, Status};

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
        let claim = if runs {
            Some(self.take_place(resident)?)
        } else {
            None
        };
        let answered = match self.engine(resident).await {
            Ok(engine) => match engine.respond(answers).await {
                Ok(()) => self.checked(resident, engine.inspect().await),
                Err(error) => self.checked(resident, Err(error)),
            },
            Err(failure) => Err(failure),
        };
        if let Some(claim) = claim {
            let goes_on = answered
                .as_ref()
                .is_ok_and(|state| state.status == Status::Running);
            if !goes_on {
                claim.give_back(resident); // others may still wait
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
