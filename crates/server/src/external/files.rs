//! Credentials that such agents read from files, and folders of their own.

use deft_executor::{OwnFolder, PointsTo, SecretFile};
use serde_json::{Value, json};

/// How agents find the folder of what they keep: a word of their command lines, the folder, the variable.
const FOLDERS: [(&str, &str, &str); 3] = [
    ("claude", "claude-code", "CLAUDE_CONFIG_DIR"),
    ("codex", "codex", "CODEX_HOME"),
    ("gemini", "gemini-cli", "HOME"),
];

/// The files that are known, as the contract has them.
pub(super) fn known() -> Value {
    let file =
        |secret: &str, filename: &str, variable: &str, folder: &str, points_to: &str, beside: &[&str]| {
            json!({"secret_name": secret, "filename": filename, "env_var": variable, "subdir": folder,
            "env_points_to": points_to, "warn_if_unset": beside})
        };
    let project = ["GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"];
    json!([
        file("CODEX_AUTH_JSON", "auth.json", "CODEX_HOME", "codex", "dir", &[]),
        file(
            "GOOGLE_APPLICATION_CREDENTIALS_JSON",
            "gcloud-credentials.json",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "gemini-cli",
            "file",
            &project
        ),
        file(
            "KIMI_CODE_CONFIG_TOML",
            "config.toml",
            "KIMI_CODE_HOME",
            "kimi-code",
            "dir",
            &[]
        ),
        file(
            "PI_AUTH_JSON",
            "auth.json",
            "PI_CODING_AGENT_DIR",
            "pi",
            "dir",
            &[]
        ),
    ])
}

/// The files that an agent wants.
pub(super) fn wanted(agent: &Value) -> Vec<SecretFile> {
    let files = agent["acp_file_secrets"].as_array().into_iter().flatten();
    let file = |file: &Value| {
        let text = |field: &str| file[field].as_str().map(str::to_owned);
        Some(SecretFile {
            secret: text("secret_name")?,
            folder: text("subdir")?,
            name: text("filename")?,
            variable: text("env_var")?,
            points_to: match file["env_points_to"].as_str() {
                Some("dir") => PointsTo::Folder,
                _ => PointsTo::File,
            },
        })
    };
    files.filter_map(file).collect()
}

/// The folder that an agent keeps its things in, where it is to have one of its own and is known.
pub(super) fn own_folder(agent: &Value, command: &[String]) -> Option<OwnFolder> {
    if agent["acp_isolate_data_dir"] != true {
        return None;
    }
    let named = agent["acp_server"].as_str();
    let is_meant = |word: &str| {
        named
            .into_iter()
            .chain(command.iter().map(String::as_str))
            .any(|part| part.contains(word))
    };
    let (_, folder, variable) = FOLDERS.iter().find(|(word, ..)| is_meant(word))?;
    Some(OwnFolder {
        variable: (*variable).to_owned(),
        folder: (*folder).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_is_known_can_have_a_folder_of_its_own() {
        let command = ["npx", "-y", "@zed-industries/codex-acp@0.16.0"].map(str::to_owned);
        let isolated = json!({"acp_isolate_data_dir": true});
        assert_eq!(own_folder(&isolated, &command).unwrap().variable, "CODEX_HOME");
        assert_eq!(own_folder(&json!({}), &command), None);
        assert_eq!(own_folder(&isolated, &["other".to_owned()]), None);
    }
}
