//! The files in which AWS's own tools keep keys under names.

use std::collections::HashMap;
use std::path::PathBuf;

use deft_types::Secret;

use super::{AwsKeys, AwsRole, AwsSettings};

/// How often a profile may refer to another.
const MAX_SOURCES: usize = 5;

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AwsProfileError {
    /// It is not in the files.
    #[error("there is no profile '{0}' in the files of AWS")]
    Unknown(String),
    /// It gets its keys in another way.
    #[error(
        "the profile '{0}' of AWS has no keys of its own, nor those of a `source_profile`: what logs in or runs a \
         program for them is not understood here"
    )]
    NoKeys(String),
    /// Its keys are those of a role.
    #[error("the profile '{0}' of AWS takes on a role itself: name one whose `source_profile` has keys")]
    Chained(String),
}

/// What the files say under each name.
#[derive(Default)]
struct Profiles(HashMap<String, HashMap<String, String>>);

impl AwsSettings {
    /// What a profile stands for. The variables say where the files are, if not where they always are.
    pub fn from_profile(
        name: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, AwsProfileError> {
        let read = |named: &str, usual: &str| {
            let path = variable(named).map(PathBuf::from);
            let path = path.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".aws").join(usual)));
            let text = path.and_then(|path| std::fs::read_to_string(path).ok());
            text.unwrap_or_default() // one that is not there says nothing
        };
        let mut profiles = Profiles::default();
        profiles.add(&read("AWS_CONFIG_FILE", "config"));
        profiles.add(&read("AWS_SHARED_CREDENTIALS_FILE", "credentials"));
        profiles.settings(name, &variable)
    }
}

impl Profiles {
    /// Adds what a file says: `[name]` or `[profile name]`, and lines of `key = value` below it.
    fn add(&mut self, text: &str) {
        let mut section = None;
        for line in text.lines().map(str::trim) {
            if let Some(named) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                let named = named.trim();
                section = Some(named.strip_prefix("profile ").unwrap_or(named).trim().to_owned());
            } else if let (Some(section), Some((key, value))) = (&section, line.split_once('='))
                && !line.starts_with(['#', ';'])
            {
                let profile = self.0.entry(section.clone()).or_default();
                profile.insert(key.trim().to_lowercase(), value.trim().to_owned());
            }
        }
    }

    fn settings(
        &self,
        name: &str,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> Result<AwsSettings, AwsProfileError> {
        let unknown = |name: &str| AwsProfileError::Unknown(name.to_owned());
        let profile = self.0.get(name).ok_or_else(|| unknown(name))?;
        let said = |key: &str| profile.get(key).filter(|value| !value.is_empty()).cloned();
        let role = said("role_arn").map(|arn| AwsRole::new(arn, said("role_session_name"), variable));
        let mut owner = name;
        let mut keys = None;
        for _ in 0..MAX_SOURCES {
            let profile = self.0.get(owner).ok_or_else(|| unknown(owner))?;
            let takes_on_role = profile.contains_key("role_arn");
            if takes_on_role && owner != name {
                return Err(AwsProfileError::Chained(owner.to_owned()));
            }
            keys = keys_of(profile);
            match profile.get("source_profile") {
                Some(source) if keys.is_none() || takes_on_role => owner = source,
                Some(_) | None => break,
            }
        }
        if keys.is_none() {
            return Err(AwsProfileError::NoKeys(name.to_owned()));
        }
        Ok(AwsSettings {
            region: said("region"),
            keys,
            role,
        })
    }
}

fn keys_of(profile: &HashMap<String, String>) -> Option<AwsKeys> {
    Some(AwsKeys {
        access_key_id: profile.get("aws_access_key_id")?.clone(),
        secret_access_key: Secret::new(profile.get("aws_secret_access_key")?.clone()),
        session_token: profile.get("aws_session_token").cloned().map(Secret::new),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_its_own_keys_or_those_of_another_and_a_role() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let config = file(
            "config",
            "[default]\nregion = us-east-1\n\n[profile build]\n# a remark = nothing\nrole_arn = arn:aws:iam::1:role/b\n\
             source_profile = default\nregion=eu-west-1\n[profile sso]\nsso_session = x\n[profile round]\nsource_profile = round\n\
             [profile above]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = build\n",
        );
        let credentials = file(
            "credentials",
            "[default]\naws_access_key_id = AKID\naws_secret_access_key = hush\n",
        );
        let read = |name: &str| {
            AwsSettings::from_profile(name, |variable| match variable {
                "AWS_CONFIG_FILE" => Some(config.clone()),
                "AWS_SHARED_CREDENTIALS_FILE" => Some(credentials.clone()),
                _ => None,
            })
        };
        let own = read("default").unwrap();
        assert_eq!(own.region.as_deref(), Some("us-east-1"));
        assert_eq!(own.keys.unwrap().secret_access_key.expose(), "hush");
        assert!(own.role.is_none());
        let role = read("build").unwrap();
        assert_eq!(role.region.as_deref(), Some("eu-west-1"));
        assert_eq!(role.keys.unwrap().access_key_id, "AKID");
        assert_eq!(role.role.unwrap().arn, "arn:aws:iam::1:role/b");
        for (name, why) in [
            ("nope", "no profile 'nope'"),
            ("sso", "no keys"),
            ("round", "no keys"),
            ("above", "'build' of AWS takes on a role itself"),
        ] {
            let error = read(name).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
