//! Time and ids come from outside, so that the engine can run in a simulation.

use std::time::SystemTime;

use uuid::Uuid;

/// What the engine takes from the world around it.
pub trait World: Send + Sync {
    /// The time of day.
    fn now(&self) -> SystemTime;

    /// An id nobody had before.
    fn new_id(&self) -> Uuid;

    /// The loop has come to this point. Tests stop the process here; the real world takes no notice.
    fn reached(&self, _point: Point) {}
}

/// Points of the loop between which a crash makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The log was read, nothing written yet.
    Loaded,
    /// Events are about to be appended.
    BeforeAppend,
    /// Events are committed, the state in memory is not changed yet.
    AfterAppend,
    /// The executor answered its hello.
    ExecutorConnected,
    /// A request is about to go to the model.
    BeforeModelCall,
    /// The first piece of a reply is there.
    FirstDelta,
    /// The whole reply is there, nothing of it stored.
    AfterModelCall,
    /// A committed action is about to go to the executor.
    BeforeToolCall,
    /// The executor has the call.
    AfterToolCallSent,
    /// The first output of a tool is there.
    FirstOutput,
    /// The result is there, not stored.
    AfterToolResult,
    /// The result is stored, the executor does not know.
    BeforeAcknowledge,
    /// The executor was told.
    AfterAcknowledge,
}

/// The clock and randomness of this machine.
pub struct RealWorld;

impl World for RealWorld {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn new_id(&self) -> Uuid {
        Uuid::now_v7() // they grow with time, which keeps an index of them compact
    }
}
