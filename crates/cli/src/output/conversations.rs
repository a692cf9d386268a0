//! The table of `deft conversation list`.

use std::collections::BTreeSet;
use std::time::Duration;

use anstyle::Style as Ansi;
use deft_types::{ConversationId, Money, Status};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::neutral::without_escapes;
use super::style::Style;

/// Digits of an id that are enough for people, unless two begin alike.
const SHORT_ID: usize = 8;
/// What a title gets at least, however narrow the terminal.
const MIN_TITLE: usize = 8;

/// One conversation of the list.
#[derive(Clone, Debug)]
pub(crate) struct ConversationRow {
    /// Its id.
    pub(crate) id: ConversationId,
    /// What it is doing.
    pub(crate) status: Status,
    /// How long ago something happened in it.
    pub(crate) age: Duration,
    /// What it cost.
    pub(crate) cost: Money,
    /// What it is about.
    pub(crate) title: String,
}

/// The list, fitted to a terminal of so many columns, or as wide as it gets.
pub(crate) fn conversation_table(rows: &[ConversationRow], columns: Option<usize>, style: &Style) -> String {
    if rows.is_empty() {
        return "There are no conversations yet.\n".to_owned();
    }
    let id_length = unique_length(rows);
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            [
                row.id.hex()[..id_length].to_owned(),
                status(row.status).to_owned(),
                age(row.age),
                row.cost.to_string(),
            ]
        })
        .collect();
    let header = ["ID", "STATUS", "AGE", "COST"].map(str::to_owned);
    let widest = |column: usize| {
        cells
            .iter()
            .chain([&header])
            .map(|cells| cells[column].len())
            .max()
            .unwrap_or(0)
    };
    let widths = [widest(0), widest(1), widest(2), widest(3)];
    let before_title = widths.iter().map(|width| width + 2).sum::<usize>();
    let title_width = columns.map(|columns| columns.saturating_sub(before_title).max(MIN_TITLE));

    let line = |cells: &[String; 4], status_style: Ansi, title: &str| {
        let [id, status, age, cost] = cells;
        let [id_width, status_width, age_width, cost_width] = widths;
        format!(
            "{id:id_width$}  {status_style}{status:status_width$}{status_style:#}  {age:>age_width$}  {cost:>cost_width$}  {}\n",
            fit(title, title_width)
        )
    };
    let heading = style.heading;
    let mut table = format!(
        "{heading}{}{heading:#}\n",
        line(&header, Ansi::new(), "TITLE").trim_end()
    );
    for (row, cells) in rows.iter().zip(&cells) {
        table += &line(cells, status_style(row.status, style), &row.title);
    }
    table
}

/// The shortest length at which ids that start alike, as those of one minute do, differ.
fn unique_length(rows: &[ConversationRow]) -> usize {
    let ids: BTreeSet<String> = rows.iter().map(|row| row.id.hex()).collect();
    let full = ids.first().map_or(0, String::len);
    let differ =
        |length: &usize| ids.iter().map(|id| &id[..*length]).collect::<BTreeSet<_>>().len() == ids.len();
    (SHORT_ID..full).find(differ).unwrap_or(full)
}

/// A title on one line, not wider than the terminal has room for.
fn fit(title: &str, width: Option<usize>) -> String {
    let title = without_escapes(title)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let Some(width) = width.filter(|width| title.width() > *width) else {
        return title;
    };
    let mut room = width.saturating_sub(1);
    let kept = title.chars().take_while(|char| {
        let needed = char.width().unwrap_or(0);
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    });
    kept.collect::<String>() + "…"
}

fn age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..172_800 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::WaitingForConfirmation => "waiting",
        Status::Idle
        | Status::Running
        | Status::Paused
        | Status::Finished
        | Status::Error
        | Status::Stuck
        | Status::Deleting => status.as_str(),
    }
}

fn status_style(status: Status, style: &Style) -> Ansi {
    match status {
        Status::Running => style.good,
        Status::WaitingForConfirmation | Status::Paused => style.warning,
        Status::Error | Status::Stuck => style.error,
        Status::Idle | Status::Finished | Status::Deleting => style.plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, status: Status, seconds: u64, cost: f64, title: &str) -> ConversationRow {
        let (age, cost) = (Duration::from_secs(seconds), Money::try_from(cost).unwrap());
        ConversationRow {
            id: id.parse().unwrap(),
            status,
            age,
            cost,
            title: title.to_owned(),
        }
    }

    #[test]
    fn columns_are_aligned_and_titles_cut_to_the_width() {
        let rows = [
            row(
                "0a1b2c3d-0000-4000-8000-000000000000",
                Status::Running,
                5,
                0.0123,
                "Fix the failing tests of the parser",
            ),
            row(
                "11111111-0000-4000-8000-000000000000",
                Status::WaitingForConfirmation,
                7300,
                12.5,
                "漢字漢字漢字漢字漢字\n漢字",
            ),
            row(
                "22222222-0000-4000-8000-000000000000",
                Status::Error,
                900_000,
                0.0,
                "x\x1b]0;evil\x07y",
            ),
        ];
        assert_eq!(
            conversation_table(&rows, Some(54), &Style::default()),
            "ID        STATUS   AGE     COST  TITLE\n\
             0a1b2c3d  running   5s  $0.0123  Fix the failing test…\n\
             11111111  waiting   2h   $12.50  漢字漢字漢字漢字漢字…\n\
             22222222  error    10d    $0.00  xy\n"
        );
        assert!(conversation_table(&rows, None, &Style::default()).contains("of the parser\n"));
        assert!(conversation_table(&rows, Some(1), &Style::default()).contains("  Fix the…\n"));
    }

    #[test]
    fn ids_that_begin_alike_are_shown_longer() {
        let rows = [
            row("018f0000-1110-7000-8000-000000000000", Status::Idle, 1, 0.0, ""),
            row("018f0000-1120-7000-8000-000000000000", Status::Idle, 1, 0.0, ""),
        ];
        let table = conversation_table(&rows, None, &Style::default());
        assert!(
            table.contains("018f0000111  ") && table.contains("018f0000112  "),
            "{table}"
        );
    }

    #[test]
    fn an_empty_list_says_so() {
        assert_eq!(
            conversation_table(&[], Some(80), &Style::default()),
            "There are no conversations yet.\n"
        );
    }
}
