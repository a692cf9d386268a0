//! The status machine: what makes a conversation change its status.

use deft_types::Status;

/// What happens to a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// The user says something.
    Message,
    /// The user wants it to go on. With actions waiting for a word, this is the word.
    Run,
    /// The user wants it to stop at the next safe boundary.
    Pause,
    /// The user wants it to stop now.
    Interrupt,
    /// It was read from a log, and nothing of it runs.
    Load,
    /// The agent is done, or waits for an answer.
    Finish,
    /// The model, the workspace or a limit ends the run.
    Fail,
    /// The agent goes in circles.
    Stick,
    /// The agent wants to do something that a person must allow.
    Ask,
    /// The person does not.
    Reject,
    /// The conversation went back to where something is still to be answered.
    Move,
}

/// The status after it; `None` if it stays as it is.
pub(crate) fn after(status: Status, trigger: Trigger) -> Option<Status> {
    use Status::{Deleting, Error, Finished, Idle, Paused, Running, Stuck, WaitingForConfirmation};
    if status == Deleting {
        return None;
    }
    let next = match (trigger, status) {
        (Trigger::Message, Finished | Stuck)
        | (Trigger::Reject | Trigger::Move, WaitingForConfirmation)
        | (Trigger::Move, Finished) => Idle,
        (Trigger::Run, Idle | Paused | WaitingForConfirmation | Error | Stuck) => Running,
        (Trigger::Pause, Idle | Running)
        | (Trigger::Interrupt, Running | WaitingForConfirmation)
        | (Trigger::Load, Running) => Paused,
        (Trigger::Ask, Running | Paused) => WaitingForConfirmation,
        (Trigger::Finish, _) => Finished,
        (Trigger::Fail, _) => Error,
        (Trigger::Stick, _) => Stuck,
        (
            Trigger::Message
            | Trigger::Run
            | Trigger::Pause
            | Trigger::Interrupt
            | Trigger::Load
            | Trigger::Ask
            | Trigger::Reject
            | Trigger::Move,
            _,
        ) => return None,
    };
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::{Deleting, Error, Finished, Idle, Paused, Running, Stuck, WaitingForConfirmation};

    #[test]
    fn every_status_goes_on_but_the_last() {
        for status in [
            Idle,
            Running,
            Paused,
            WaitingForConfirmation,
            Finished,
            Error,
            Stuck,
        ] {
            let told = after(status, Trigger::Message).unwrap_or(status);
            assert_eq!(
                after(told, Trigger::Run).unwrap_or(told),
                Running,
                "{status} is a dead end"
            );
        }
        assert_eq!(after(Deleting, Trigger::Run), None);
    }

    #[test]
    fn a_pause_keeps_what_waits_and_what_has_ended() {
        for status in [WaitingForConfirmation, Finished, Error, Stuck, Paused] {
            assert_eq!(after(status, Trigger::Pause), None, "{status}");
        }
    }

    #[test]
    fn an_answer_ends_a_run_that_was_paused_meanwhile() {
        assert_eq!(after(Paused, Trigger::Finish), Some(Finished));
    }
}
