//! What sed can start: its command `e`, and `s/…/…/e`.

/// Whether a program of sed's starts others.
pub(super) fn starts_from_sed(code: &str) -> bool {
    let parts = code.split([';', '\n', '{', '}']).chain([code]);
    parts.map(without_address).any(|(address, command)| {
        command.starts_with("e ") || (command == "e" && address) || substitutes_by_command(command)
    })
}

/// A command behind the lines that it is for, and whether there are some.
fn without_address(part: &str) -> (bool, &str) {
    let mut rest = part.trim_start();
    loop {
        let is_number = |char: char| char.is_ascii_digit() || ",$!~+ ".contains(char);
        let behind = rest.trim_start_matches(is_number);
        let behind = match behind.strip_prefix('/') {
            Some(pattern) => pattern.split_once('/').map_or("", |(_, behind)| behind),
            None => behind,
        };
        if behind.len() == rest.len() {
            return (rest.len() < part.trim_start().len(), rest);
        }
        rest = behind;
    }
}

/// Whether it is a substitution whose result is run.
fn substitutes_by_command(command: &str) -> bool {
    let Some((delimiter, rest)) = command.strip_prefix('s').and_then(|rest| {
        let mut chars = rest.chars();
        Some((chars.next()?, chars.as_str()))
    }) else {
        return false;
    };
    let is_delimiter = !delimiter.is_alphanumeric() && !delimiter.is_whitespace() && delimiter != '\\';
    let flags = rest
        .rsplit(delimiter)
        .next()
        .filter(|flags| flags.len() < rest.len());
    let flags = flags.and_then(|flags| flags.split(['w', ' ']).next());
    is_delimiter && flags.is_some_and(|flags| flags.contains('e') && flags.chars().all(is_flag))
}

fn is_flag(flag: char) -> bool {
    flag.is_ascii_digit() || "gpiIemM".contains(flag)
}
