//! Whatever happens between two checkpoints, a restore gives exactly the tree that was recorded.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;

use super::checkpoint::Place;

/// Something that an agent may do to a path. What the file system refuses does not happen.
#[derive(Clone, Debug)]
enum Edit {
    Write(String, Vec<u8>),
    Remove(String),
    MakeDirectory(String),
    Link(String, String),
    Mode(String, u32),
    Rename(String, String),
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c d", "é"]), 1..4)
        .prop_map(|parts| parts.join("/"))
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (path(), prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(path, bytes)| Edit::Write(path, bytes)),
        2 => path().prop_map(Edit::Remove),
        1 => path().prop_map(Edit::MakeDirectory),
        1 => (path(), path()).prop_map(|(path, target)| Edit::Link(path, target)),
        1 => (path(), prop::sample::select(vec![0o755, 0o644, 0o600, 0o500, 0o700, 0o555]))
            .prop_map(|(path, mode)| Edit::Mode(path, mode)),
        1 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
    ]
}

fn apply(place: &Place, edit: &Edit) {
    let parent = |path: &str| {
        let _ = fs::create_dir_all(place.path(path).parent().unwrap());
    };
    // Links are never written through: they could lead anywhere.
    let is_link = |path: &str| {
        let mut whole = place.path("");
        path.split('/').any(|part| {
            whole.push(part);
            whole.is_symlink()
        })
    };
    let _ = match edit {
        Edit::Write(path, bytes) if !is_link(path) => {
            parent(path);
            fs::write(place.path(path), bytes)
        }
        Edit::Remove(path) => {
            let path = place.path(path);
            fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path))
        }
        Edit::MakeDirectory(path) => fs::create_dir_all(place.path(path)),
        Edit::Link(path, target) => {
            parent(path);
            symlink(target, place.path(path))
        }
        Edit::Mode(path, mode) if !is_link(path) => {
            fs::set_permissions(place.path(path), Permissions::from_mode(*mode))
        }
        Edit::Rename(from, to) => {
            parent(to);
            fs::rename(place.path(from), place.path(to))
        }
        Edit::Write(..) | Edit::Mode(..) => Ok(()),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_restore_gives_exactly_the_recorded_tree(
        turns in prop::collection::vec(prop::collection::vec(edit(), 0..12), 1..5),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let place = Place::new();
        let mut recorded = Vec::new();
        for turn in &turns {
            let id = place.checkpoints.take("a turn").unwrap();
            recorded.push((id, place.tree()));
            for edit in turn {
                apply(&place, edit);
            }
        }
        place.checkpoints.settle().unwrap();
        for index in order {
            let (id, tree) = index.get(&recorded);
            place.restore(*id);
            prop_assert_eq!(&place.tree(), tree);
            prop_assert_eq!(place.checkpoints.preview(*id).unwrap(), []);
        }
    }
}

/// A directory in which something was made has to be opened for that to go, and closed again.
#[test]
fn a_directory_keeps_its_mode_when_one_in_it_goes() {
    let place = Place::new();
    apply(&place, &Edit::MakeDirectory("a".into()));
    apply(&place, &Edit::Mode("a".into(), 0o644));
    let id = place.checkpoints.take("a turn").unwrap();
    let tree = place.tree();
    apply(&place, &Edit::MakeDirectory("a/a".into()));
    place.checkpoints.settle().unwrap();
    let later = place.checkpoints.take("another").unwrap();
    let with_both = place.tree();
    place.restore(id);
    assert_eq!(place.tree(), tree);
    place.restore(later);
    assert_eq!(place.tree(), with_both);
}
