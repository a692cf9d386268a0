//! The homes whose secrets a user could read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// The first number of a person's account; those below are of services.
const FIRST_PERSON: u32 = 1000;
/// Each home costs a look at every place where secrets lie.
const MAX_HOMES: usize = 32;

/// The user's own home, whatever `HOME` says, and for root those of all people.
pub(super) fn of_user() -> BTreeSet<PathBuf> {
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    readable_by(geteuid().as_raw(), &accounts)
}

fn readable_by(user: u32, accounts: &str) -> BTreeSet<PathBuf> {
    let homes = accounts.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2);
        let owner: u32 = fields.next()?.parse().ok()?;
        let home = Path::new(fields.nth(2)?);
        let is_readable = owner == user || user == 0 && owner >= FIRST_PERSON;
        (is_readable && home.is_absolute() && home.parent().is_some()).then(|| home.to_owned())
    });
    homes.take(MAX_HOMES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_could_read_the_homes_of_all_people_and_they_their_own() {
        let accounts = "root:x:0:0:root:/root:/bin/bash\n\
                        daemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n\
                        ann:x:1000:1000:Ann,,,:/home/ann:/bin/bash\n\
                        bob:x:1001:1001::/home/bob:/bin/sh\n\
                        sync:x:1002:1002::/:/bin/sync\n\
                        broken\n";
        let homes = |user| {
            let homes = readable_by(user, accounts).into_iter();
            homes.map(|home| home.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(homes(0), ["/home/ann", "/home/bob", "/root"]);
        assert_eq!(homes(1000), ["/home/ann"]);
        assert!(homes(4).is_empty());
    }
}
