//! Figures beside their goals: as lines to read while it goes on, and as the page that is kept.

use std::fmt;

use crate::machine::Machine;

/// What one file measured.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    /// How it was measured, for whoever doubts it.
    pub(crate) method: &'static str,
    pub(crate) figures: Vec<Figure>,
}

/// One number.
pub(crate) struct Figure {
    pub(crate) what: &'static str,
    pub(crate) measured: f64,
    pub(crate) unit: Unit,
    pub(crate) goal: Goal,
}

#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Milliseconds,
    Microseconds,
    Megabytes,
    Kilobytes,
    EventsPerSecond,
    PerSecond,
    StepsPerSecond,
    /// So many times something else.
    Times,
}

/// What a number should be.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    /// Shown because it explains another.
    None,
}

impl Figure {
    pub(crate) fn new(what: &'static str, measured: f64, unit: Unit, goal: Goal) -> Self {
        Self {
            what,
            measured,
            unit,
            goal,
        }
    }

    fn verdict(&self) -> &'static str {
        let met = match self.goal {
            Goal::AtMost(limit) => self.measured <= limit,
            Goal::AtLeast(limit) => self.measured >= limit,
            Goal::None => return "",
        };
        if met { "met" } else { "missed" }
    }

    fn goal(&self) -> String {
        match self.goal {
            Goal::AtMost(limit) => format!("≤ {}", Amount(limit, self.unit)),
            Goal::AtLeast(limit) => format!("≥ {}", Amount(limit, self.unit)),
            Goal::None => String::new(),
        }
    }

    fn measured(&self) -> String {
        Amount(self.measured, self.unit).to_string()
    }
}

/// A number as people read it: three digits that count.
struct Amount(f64, Unit);

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = match self.0 {
            number if number < 10.0 => 2,
            number if number < 100.0 => 1,
            _ => 0,
        };
        write!(f, "{:.decimals$}", self.0)?;
        f.write_str(match self.1 {
            Unit::Milliseconds => " ms",
            Unit::Microseconds => " µs",
            Unit::Megabytes => " MB",
            Unit::Kilobytes => " KB",
            Unit::EventsPerSecond => " events/s",
            Unit::PerSecond => " /s",
            Unit::StepsPerSecond => " steps/s",
            Unit::Times => " ×",
        })
    }
}

/// A line for each figure.
pub(crate) fn lines(section: &Section) -> String {
    let line = |figure: &Figure| {
        format!(
            "{:<72} {:>16}  {:<18} {}\n",
            figure.what,
            figure.measured(),
            figure.goal(),
            figure.verdict()
        )
    };
    section.figures.iter().map(line).collect()
}

/// The whole of `BENCHMARKS.md`.
pub(crate) fn page(machine: &Machine, sections: &[Section]) -> String {
    let rows: String = sections
        .iter()
        .flat_map(|section| &section.figures)
        .map(|figure| {
            let (what, goal, measured) = (figure.what, figure.goal(), figure.measured());
            let verdict = match figure.verdict() {
                "missed" => " (missed)",
                _ => "",
            };
            format!("| {what} | {goal} | {measured}{verdict} |\n")
        })
        .collect();
    let methods: String = sections
        .iter()
        .map(|section| format!("- **{}.** {}\n", section.title, section.method))
        .collect();
    format!(
        "# Benchmarks\n\n\
         What Deft itself costs, beside what it may cost at most. `make bench` measures all of it again on your \
         machine and writes this page. A number without a goal explains its neighbours.\n\n\
         {machine}\n\
         | what | goal | measured |\n\
         | --- | --- | --- |\n\
         {rows}\n\
         ## How it is measured\n\n\
         {methods}"
    )
}
