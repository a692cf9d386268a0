//! Lines with their numbers, as the model sees them.

use std::fmt::Write;

/// How many characters of a file are shown at once.
pub(crate) const SHOWN_LIMIT: usize = 16_000;
/// How many characters of one line are shown when there is too much to show it all.
const LINE_LIMIT: usize = 2_000;

/// The lines of a text: pieces that end with a line break, and a last one that may not.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.split_terminator('\n').collect()
}

/// Numbers lines, the first with `first`. If they are too many, the middle is left out; the numbers stay true.
pub(crate) fn number(lines: &[&str], first: usize) -> String {
    let numbered = |clip: fn(&str) -> String| -> Vec<String> {
        let each = lines.iter().enumerate();
        each.map(|(index, line)| format!("{:6}\t{}\n", first + index, clip(line)))
            .collect()
    };
    let all = numbered(str::to_owned).concat();
    if all.chars().count() <= SHOWN_LIMIT {
        return all;
    }
    let numbered = numbered(clip_line);
    let notice = |from: usize, to: usize| {
        format!("[… lines {from} to {to} are left out: use `view_range` to see them …]\n")
    };
    let half = (SHOWN_LIMIT - notice(usize::MAX, usize::MAX).len()) / 2;
    let fitting = |lines: &mut dyn Iterator<Item = &String>| {
        let mut room = half;
        lines
            .take_while(|line| {
                let length = line.chars().count();
                let fits = length <= room;
                room = room.saturating_sub(length);
                fits
            })
            .count()
    };
    let head = fitting(&mut numbered.iter());
    let tail = fitting(&mut numbered[head..].iter().rev());
    let end = numbered.len() - tail;
    let mut text = numbered[..head].concat();
    if head < end {
        text.push_str(&notice(first + head, first + end - 1));
    }
    text + &numbered[end..].concat()
}

/// The line, cut where it gets too long to be of use.
pub(crate) fn clip_line(line: &str) -> String {
    let Some((end, _)) = line.char_indices().nth(LINE_LIMIT) else {
        return line.to_owned();
    };
    let mut clipped = line[..end].to_owned();
    let more = line[end..].chars().count();
    // Writing to a string cannot fail.
    let _ = write!(clipped, "[… {more} more characters in this line …]");
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_true_behind_the_gap() {
        let text: Vec<String> = (1..=5000).map(|number| format!("line number {number}")).collect();
        let shown = number(&lines(&text.join("\n")), 1);
        assert!(shown.chars().count() <= SHOWN_LIMIT);
        for line in shown.lines().filter(|line| !line.starts_with('[')) {
            let (number, content) = line.trim().split_once('\t').unwrap();
            assert_eq!(content, format!("line number {number}"));
        }
        assert!(
            shown.contains("lines ") && shown.ends_with("  5000\tline number 5000\n"),
            "{shown}"
        );
    }

    #[test]
    fn one_endless_line_is_shown_in_part() {
        let shown = number(&["x".repeat(100_000).as_str(), "next"], 7);
        assert!(shown.chars().count() <= SHOWN_LIMIT);
        assert!(
            shown.contains("98000 more characters") && shown.ends_with("     8\tnext\n"),
            "{shown}"
        );
    }
}
