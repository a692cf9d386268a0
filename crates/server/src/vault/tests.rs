//! The vault by itself.

use super::*;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

fn keys(directory: &Path) -> VaultKeys {
    VaultKeys::of(directory, |_| None)
}

fn given(directory: &Path, variables: &[(&str, &str)]) -> VaultKeys {
    VaultKeys::of(directory, |name| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn new_key() -> String {
    Key::random().unwrap().text().expose().clone()
}

#[test]
fn what_is_sealed_is_unreadable_without_its_key_and_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let vault = Vault::open(keys(directory.path())).unwrap();
    let sealed = vault.seal("here", "sk-secret").unwrap();
    assert!(!sealed.contains("secret"));
    assert_ne!(
        sealed,
        vault.seal("here", "sk-secret").unwrap(),
        "a nonce is used once"
    );
    assert_eq!(vault.open_sealed("here", &sealed).unwrap(), "sk-secret");
    assert!(vault.open_sealed("there", &sealed).is_err());
    let again = Vault::open(keys(directory.path())).unwrap();
    assert_eq!(again.open_sealed("here", &sealed).unwrap(), "sk-secret");
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Vault::open(keys(elsewhere.path())).unwrap();
    assert!(other.open_sealed("here", &sealed).is_err());
}

#[test]
fn a_key_file_is_for_the_user_alone_or_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vault-key");
    Vault::open(keys(directory.path())).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = Vault::open(keys(directory.path()));
    assert!(matches!(refused, Err(VaultError::KeyFile { .. })));
}

#[test]
fn a_key_file_that_was_never_written_is_no_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session-key");
    for text in ["", "\n", "short"] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let refused = private_file(&path, new_client_key).err().unwrap().to_string();
        assert!(refused.contains("may also be removed"), "{refused}");
    }
    fs::remove_file(&path).unwrap();
    let made = private_file(&path, new_client_key).unwrap();
    let found = private_file(&path, new_client_key).unwrap();
    assert_eq!((made.origin, found.origin), (Origin::Made, Origin::Found));
    assert_eq!(made.value.expose(), found.value.expose());
    let names = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(names, 1, "nothing is left beside it");
}

#[test]
fn a_key_in_a_variable_needs_no_file_and_others_still_open() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (new_key(), new_key());
    let vault = Vault::open(given(directory.path(), &[("DEFT_VAULT_KEY", &one)])).unwrap();
    assert!(!directory.path().join("vault-key").exists());
    let sealed = vault.seal("here", "sk-secret").unwrap();
    let both = [("DEFT_VAULT_KEY", two.as_str()), ("DEFT_VAULT_KEYS_BEFORE", &one)];
    let both = Vault::open(given(directory.path(), &both)).unwrap();
    assert_eq!(both.open_sealed("here", &sealed).unwrap(), "sk-secret");
    let sealed = both.seal("here", "sk-secret").unwrap();
    assert!(vault.open_sealed("here", &sealed).is_err(), "the new key seals");
    let refused = Vault::open(given(directory.path(), &[("DEFT_VAULT_KEY", "hello")]));
    assert!(matches!(refused, Err(VaultError::Variable)));
}

#[test]
fn a_vault_in_use_sees_that_its_key_was_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let keys = keys(directory.path());
    let vault = Vault::open(keys.clone()).unwrap();
    let before = vault.seal("here", "sk-secret").unwrap();
    let mut lines = keys.lines().unwrap();
    lines.insert(0, place::Line::random(KeyHome::File).unwrap());
    keys.write(&lines[..1]).unwrap();
    let after = vault.seal("here", "sk-secret").unwrap();
    let fresh = Vault::open(keys).unwrap();
    assert_eq!(fresh.open_sealed("here", &after).unwrap(), "sk-secret");
    assert!(fresh.open_sealed("here", &before).is_err());
    assert_eq!(
        vault.open_sealed("here", &before).unwrap(),
        "sk-secret",
        "a client may bring it back"
    );
}
