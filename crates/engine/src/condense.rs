//! Keeps what the model sees within what it can read.
//!
//! A condenser looks at the view and plans: which results to mask, which messages to forget, what to summarise.
//! Nothing is ever removed from the log.

mod mask;
mod named;
mod summary;
#[cfg(test)]
mod tests;

use deft_llm::ModelProfile;
use deft_types::{EventId, Role};

use crate::view::{Entry, View, loops, segments};

pub(crate) use self::mask::{Mask, cut_newest};
use self::mask::{mask_browser, mask_old};
pub use self::named::UnknownCondenser;
pub(crate) use self::summary::{Draft, fallback, held_to, most, request};

/// A way to keep a view short.
#[derive(Clone, Debug, PartialEq)]
pub enum Condenser {
    /// Puts a note in the place of old results. Costs nothing and loses only what can be had again.
    MaskResults,
    /// The same for the results of the browser, all but the newest so many, whether there is pressure or not.
    MaskBrowser {
        /// How many stay.
        keep: usize,
    },
    /// Forgets all but the first and the last events. A quarter more goes than must, so that it is not done before
    /// each step.
    RecentEvents {
        /// How many of the first stay.
        keep_first: usize,
        /// How many stay in all, at most.
        max_events: usize,
    },
    /// Forgets the older half, each time that there are too many events.
    Amortized {
        /// How many of the first stay.
        keep_first: usize,
        /// How many are too many.
        max_events: usize,
    },
    /// Forgets the older half when the model can read no more.
    Window,
    /// Has a model summarise the older part.
    Summary(Summary),
    /// The first of them that can do something does it.
    Pipeline(Vec<Condenser>),
}

/// How to summarise.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// How many of the first events stay.
    pub keep_first: usize,
    /// How many events are too many, where their number matters.
    pub max_events: Option<usize>,
    /// How many tokens are too many, where that is less than what the model can read.
    pub max_tokens: Option<u64>,
    /// Whether the summary has fixed sections, or is as the model likes.
    pub structured: bool,
}

impl Default for Condenser {
    /// Masking first, which keeps what was decided and halves the cost; then a summary.
    fn default() -> Self {
        Self::Pipeline(vec![
            Self::MaskResults,
            Self::Summary(Summary {
                keep_first: 2,
                max_events: None,
                max_tokens: None,
                structured: true,
            }),
        ])
    }
}

/// The share of what a model can read that is kept free, for what it writes and for what we count wrongly.
const RESERVE_PERCENT: u64 = 20;

/// How much of what a model can read is used, where that is known. The rest is kept free.
pub(crate) fn usable(profile: &ModelProfile) -> Option<u64> {
    let window = profile.context_window?.0;
    let output = profile.max_output.map_or(0, |output| output.0.min(window / 2));
    Some((window - output).min(window * (100 - RESERVE_PERCENT) / 100))
}

/// How much room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pressure {
    /// How many tokens the view may have, where anybody knows.
    pub(crate) limit: Option<u64>,
    /// Whether it must become shorter, whatever it has: somebody asked, or the model refused it.
    pub(crate) forced: bool,
}

impl Pressure {
    fn is_on(&self, view: &View) -> bool {
        self.forced || self.limit.is_some_and(|limit| view.tokens() > limit)
    }

    /// What the view has, or may have if that is less.
    fn room(&self, view: &View) -> u64 {
        let now = view.tokens();
        self.limit.unwrap_or(now).min(now)
    }
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Plan {
    /// Mask results.
    Mask(Mask),
    /// Forget these; a summary stands in for them if there is one to be made.
    Forget {
        events: Vec<EventId>,
        /// Events before the place of the summary.
        offset: usize,
        summarise: Option<Style>,
    },
}

/// What a summary looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Free,
    Sections,
}

impl Condenser {
    /// What to do about the view, if anything.
    pub(crate) fn plan(&self, view: &View, pressure: Pressure) -> Option<Plan> {
        let events = || -> usize { view.entries().iter().map(|entry| entry.events.len()).sum() };
        match self {
            Self::MaskResults => pressure.is_on(view).then(|| mask_old(view, pressure))?,
            Self::MaskBrowser { keep } => mask_browser(view, *keep),
            Self::RecentEvents {
                keep_first,
                max_events,
            } => (pressure.forced || events() > *max_events).then(|| {
                forget(
                    view,
                    *keep_first,
                    Tail::Events((max_events - max_events / 4).saturating_sub(*keep_first)),
                    None,
                )
            })?,
            Self::Amortized {
                keep_first,
                max_events,
            } => (pressure.forced || events() > *max_events)
                .then(|| forget(view, *keep_first, Tail::Events(max_events / 2), None))?,
            Self::Window => pressure
                .is_on(view)
                .then(|| forget(view, 2, Tail::Half(pressure.room(view)), None))?,
            Self::Summary(summary) => summary.plan(view, pressure),
            Self::Pipeline(condensers) => condensers
                .iter()
                .find_map(|condenser| condenser.plan(view, pressure)),
        }
    }

    /// What to do where it does not know how to make room and there must be some: forgets the older half. One that is to
    /// do nothing does nothing, unless the model has refused what it was sent: otherwise it would never answer again.
    pub(crate) fn last_resort(&self, view: &View, pressure: Pressure, refused: bool) -> Option<Plan> {
        let does_nothing = matches!(self, Self::Pipeline(condensers) if condensers.is_empty());
        (!does_nothing || refused).then(|| Self::Window.plan(view, pressure))?
    }
}

impl Summary {
    fn plan(&self, view: &View, pressure: Pressure) -> Option<Plan> {
        let limit = [pressure.limit, self.max_tokens].into_iter().flatten().min();
        let pressure = Pressure { limit, ..pressure };
        let style = Some(if self.structured {
            Style::Sections
        } else {
            Style::Free
        });
        if pressure.is_on(view) {
            return forget(view, self.keep_first, Tail::Half(pressure.room(view)), style);
        }
        let events = || -> usize { view.entries().iter().map(|entry| entry.events.len()).sum() };
        let max_events = self.max_events.filter(|max| events() > *max)?;
        let tail = (max_events / 2).saturating_sub(self.keep_first + 1);
        forget(view, self.keep_first, Tail::Events(tail), style)
    }
}

/// How much of the end stays.
#[derive(Clone, Copy)]
enum Tail {
    /// So many events.
    Events(usize),
    /// Half of what the head leaves of so many tokens.
    Half(u64),
}

/// Forgets what is between the head and the tail, whole replies with their results only. What a model did by one thought
/// goes or stays together too, unless that would leave too much.
fn forget(view: &View, keep_first: usize, tail: Tail, summarise: Option<Style>) -> Option<Plan> {
    let replies: Vec<_> = segments(view.entries()).collect();
    let replies = between(&replies, keep_first, tail)?;
    let whole = between(&loops(view.entries()), keep_first, tail);
    let whole = whole.filter(|whole| whole.tokens * 2 >= replies.tokens);
    let Between { events, offset, .. } = whole.unwrap_or(replies);
    Some(Plan::Forget {
        events,
        offset,
        summarise,
    })
}

/// What is between the head and the tail.
struct Between {
    events: Vec<EventId>,
    /// Events before it.
    offset: usize,
    tokens: u64,
}

/// The last segment always stays, and all that came since the last reply: it is what the model is to answer.
fn between(segments: &[&[Entry]], keep_first: usize, tail: Tail) -> Option<Between> {
    let size = |segment: &&[Entry]| segment.iter().map(|entry| entry.events.len()).sum::<usize>();
    let tokens = |segment: &&[Entry]| segment.iter().map(|entry| entry.tokens).sum::<u64>();
    let is_prompt = |segment: &&&[Entry]| segment[0].message.role == Role::System;

    let mut head = segments.iter().take_while(is_prompt).count();
    let mut offset: usize = segments[..head].iter().map(size).sum();
    while head < segments.len() && offset + size(&segments[head]) <= keep_first {
        offset += size(&segments[head]);
        head += 1;
    }
    let head_tokens: u64 = segments[..head].iter().map(tokens).sum();
    let is_said = |segment: &&&[Entry]| segment[0].message.role == Role::User;
    let said = segments.iter().rev().take_while(is_said).count();
    // Results that the last reply has brought and nobody has read, though something was said behind them.
    let unread = segments[..segments.len() - said]
        .last()
        .is_some_and(|reply| reply.len() > 1);
    let unanswered = (said + usize::from(unread)).max(1);
    let mut first_kept = segments.len().saturating_sub(unanswered);
    let mut events_kept: usize = segments[first_kept..].iter().map(size).sum();
    let mut tokens_kept: u64 = segments[first_kept..].iter().map(tokens).sum();
    while first_kept > head {
        events_kept += size(&segments[first_kept - 1]);
        tokens_kept += tokens(&segments[first_kept - 1]);
        let fits = match tail {
            Tail::Events(most) => events_kept <= most,
            Tail::Half(room) => tokens_kept <= room.saturating_sub(head_tokens) / 2,
        };
        if !fits {
            break;
        }
        first_kept -= 1;
    }
    let forgotten = segments.get(head..first_kept)?;
    let events: Vec<_> = forgotten
        .iter()
        .flat_map(|segment| segment.iter().flat_map(|entry| entry.events.iter().cloned()))
        .collect();
    let tokens = forgotten.iter().map(tokens).sum();
    (!events.is_empty()).then_some(Between {
        events,
        offset,
        tokens,
    })
}
