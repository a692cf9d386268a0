//! What the parts of a simulation share: chance, what was seen to be wrong, and the story so far.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use deft_engine::{Limits, Point, World};
use deft_store::Fencing;
use deft_types::ActionId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Chance, the same for the same seed (`SplitMix64`).
pub(crate) struct Dice(Mutex<u64>);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)))
    }

    fn next(&self) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    pub(crate) fn one_in(&self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub(crate) fn pick<'a, T>(&self, some: &'a [T]) -> &'a T {
        &some[self.below(some.len())]
    }

    pub(crate) fn uuid(&self) -> Uuid {
        let bits = (u128::from(self.next()) << 64) | u128::from(self.next());
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
    }

    /// A moment: most often none at all, now and then up to `most`.
    pub(crate) fn moment(&self, most: Duration) -> Duration {
        if self.below(3) > 0 {
            return Duration::ZERO;
        }
        let most = usize::try_from(most.as_millis()).unwrap();
        Duration::from_millis(self.below(most + 1) as u64)
    }
}

/// See the module.
pub(crate) struct Scene {
    pub(crate) dice: Dice,
    calm: AtomicBool,
    /// Whether hooks are asked before calls run.
    pub(crate) hooked: AtomicBool,
    /// Whether the store has said that it failed although it had done what it was asked, since somebody looked.
    pub(crate) lied: AtomicBool,
    /// Whether every answer of the store is lost: it does what it is told, and nobody learns of it.
    pub(crate) deaf: AtomicBool,
    began: Instant,
    violations: Mutex<Vec<String>>,
    story: Mutex<Vec<String>>,
    ran: Mutex<HashMap<ActionId, u32>>,
}

impl Scene {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            calm: AtomicBool::new(false),
            hooked: AtomicBool::new(false),
            lied: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            began: Instant::now(),
            violations: Mutex::default(),
            story: Mutex::default(),
            ran: Mutex::default(),
        }
    }

    /// Whether something goes wrong now, once in so many times.
    pub(crate) fn fault(&self, chances: usize) -> bool {
        !self.is_calm() && self.dice.one_in(chances)
    }

    /// Nothing goes wrong any more.
    pub(crate) fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    pub(crate) fn tell(&self, line: impl Into<String>) {
        let at = self.began.elapsed().as_millis();
        self.story
            .lock()
            .unwrap()
            .push(format!("{at:>8} ms  {}", line.into()));
    }

    /// Something is not as it must be.
    pub(crate) fn accuse(&self, what: impl Into<String>) {
        let what = what.into();
        self.tell(format!("WRONG: {what}"));
        self.violations.lock().unwrap().push(what);
    }

    /// Holds the simulation to what must be.
    pub(crate) fn demand(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.accuse(what());
        }
    }

    pub(crate) fn violation(&self) -> Option<String> {
        self.violations.lock().unwrap().first().cloned()
    }

    pub(crate) fn story(&self) -> String {
        self.story.lock().unwrap().join("\n")
    }

    /// A tool does its work, which must not be done twice unless it changes nothing.
    pub(crate) fn ran(&self, call: &ActionId, harmless: bool) {
        let mut ran = self.ran.lock().unwrap();
        let times = ran.entry(call.clone()).or_default();
        *times += 1;
        let twice = *times > 1 && !harmless;
        drop(ran);
        self.demand(!twice, || format!("invariant 3: the call {call} ran twice"));
    }

    /// Waits for a moment, and lets the others go on in any case.
    pub(crate) async fn pass(&self, most: Duration) {
        match self.dice.moment(most) {
            Duration::ZERO => tokio::task::yield_now().await,
            moment => tokio::time::sleep(moment).await,
        }
    }
}

/// One process that runs the conversation. When it is dead, nothing it waits for ever comes, and nothing it does is
/// seen by anybody.
pub(crate) struct Life {
    pub(crate) dead: CancellationToken,
    /// The most that it may spend, by all it was told.
    pub(crate) limits: Mutex<Limits>,
    pub(crate) fencing: OnceLock<Fencing>,
    /// Points of the loop until it dies.
    points: AtomicUsize,
}

impl Life {
    pub(crate) fn new(limits: Limits, points: Option<usize>) -> Self {
        Self {
            dead: CancellationToken::new(),
            limits: Mutex::new(limits),
            fencing: OnceLock::new(),
            points: AtomicUsize::new(points.unwrap_or(usize::MAX)),
        }
    }

    /// The part of the same process that runs another conversation: they die together.
    pub(crate) fn beside(&self, limits: Limits) -> Self {
        Self {
            dead: self.dead.clone(),
            ..Self::new(limits, None)
        }
    }

    /// Does something, if it lives to see the end of it.
    pub(crate) async fn survive<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            () = self.dead.cancelled() => pending().await,
            done = work => done,
        }
    }
}

/// The world as one process sees it: a clock that jumps, and points at which it dies.
pub(crate) struct SimulatedWorld {
    pub(crate) scene: Arc<Scene>,
    pub(crate) life: Arc<Life>,
}

impl World for SimulatedWorld {
    fn now(&self) -> SystemTime {
        let jump = if self.scene.fault(50) { 3_600 } else { 0 };
        let now = Duration::from_secs(1_800_000_000) + self.scene.began.elapsed();
        UNIX_EPOCH + now - Duration::from_secs(jump)
    }

    fn new_id(&self) -> Uuid {
        self.scene.dice.uuid()
    }

    fn reached(&self, point: Point) {
        if self.scene.is_calm() || self.life.dead.is_cancelled() {
            return;
        }
        if self.life.points.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.scene.tell(format!("the process dies at {point:?}"));
            self.life.dead.cancel();
        }
    }
}
