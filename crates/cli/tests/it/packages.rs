//! Packages of skills and plugins, installed over the routes of a server.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::commands::{Home, stderr, stdout};
use crate::serve::Served;

const KEY: &str = "k-one";
const SKILL: &str = "---\ndescription: Say hello\n---\nSay hello.";

pub(crate) fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// Makes a repository of a folder; gives its address.
pub(crate) fn committed(folder: &Path) -> String {
    let script = "git init -q -b main; git add .; git -c user.name=x -c user.email=x@y commit -qm x";
    let made = std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(folder)
        .status();
    assert!(made.unwrap().success());
    format!("file://{}", folder.display())
}

#[test]
fn a_skill_is_installed_switched_off_brought_up_to_date_and_removed() {
    let home = Home::new();
    let pack = home.work().join("pack");
    write(&pack.join("greet/SKILL.md"), SKILL);
    write(&pack.join("other/SKILL.md"), SKILL);
    let url = committed(&pack);
    let served = Served::start(&home, &[("SESSION_API_KEY", KEY)]);
    let send = |method: &str, path: &str, body: Value| served.send(method, path, KEY, &body);
    let listed = || stdout(&home.run(&["skills", "list"])).contains("greet  (user");

    let install = |more: Value| {
        let mut body = json!({"source": url});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        send("POST", "/api/skills/install", body)
    };
    let (status, several) = install(json!({}));
    assert_eq!(status, 400, "{several}");
    assert!(
        several["detail"].as_str().unwrap().contains("repo_path"),
        "{several}"
    );
    for outside in ["../../..", "/etc", "greet/../.."] {
        assert_eq!(install(json!({"repo_path": outside})).0, 400, "{outside}");
    }
    assert_eq!(
        install(json!({"ref": "--upload-pack=touch x", "repo_path": "greet"})).0,
        400
    );
    let (status, installed) = install(json!({"repo_path": "greet", "ref": "main"}));
    assert_eq!(status, 200, "{installed}");
    assert_eq!(
        (
            &installed["name"],
            &installed["description"],
            &installed["enabled"]
        ),
        (&json!("greet"), &json!("Say hello"), &json!(true))
    );
    assert_eq!(installed["resolved_ref"].as_str().unwrap().len(), 40);
    assert!(listed());
    assert_eq!(
        install(json!({"repo_path": "greet"})).0,
        409,
        "it is there already"
    );
    let (_, all) = send("GET", "/api/skills/installed", json!({}));
    assert_eq!(all, json!({"skills": [installed]}));

    let one = "/api/skills/installed/greet";
    let (status, off) = send("PATCH", one, json!({"enabled": false}));
    assert_eq!((status, &off), (200, &json!({"name": "greet", "enabled": false})));
    assert!(!listed(), "agents have it no more");
    write(&pack.join("greet/SKILL.md"), &SKILL.replace("hello", "goodbye"));
    committed(&pack);
    let (status, fresh) = send("POST", &format!("{one}/refresh"), json!({}));
    assert_eq!(status, 200, "{fresh}");
    assert_eq!(
        (&fresh["skill"]["description"], &fresh["skill"]["enabled"]),
        (&json!("Say goodbye"), &json!(false))
    );
    assert!(!listed(), "it is still switched off");
    assert_eq!(send("PATCH", one, json!({"enabled": true})).0, 200);
    assert!(listed());

    assert_eq!(send("DELETE", one, json!({})).0, 200);
    assert!(!listed());
    let (status, gone) = send("DELETE", one, json!({}));
    assert_eq!(
        (status, &gone["detail"]),
        (404, &json!("Skill 'greet' is not installed"))
    );
    assert_eq!(send("PATCH", one, json!({"enabled": true})).0, 404);
    assert!(home.root.path().join(".deft").exists());
}

#[test]
fn a_plugin_is_installed_whole_and_what_the_command_line_installs_is_listed() {
    let home = Home::new();
    let plugin = home.work().join("ship");
    write(
        &plugin.join(".claude-plugin/plugin.json"),
        r#"{"name": "ship-it", "version": "1.2", "description": "Ships"}"#,
    );
    write(&plugin.join("skills/release/SKILL.md"), SKILL);
    write(&home.work().join("pack/greet/SKILL.md"), SKILL);
    let output = home.run(&["skills", "install", "pack"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let served = Served::start(&home, &[("SESSION_API_KEY", KEY)]);
    let send = |method: &str, path: &str, body: Value| served.send(method, path, KEY, &body);
    let (_, skills) = send("GET", "/api/skills/installed", json!({}));
    assert_eq!(skills["skills"][0]["name"], "greet");

    let (status, installed) = send("POST", "/api/plugins/install", json!({"source": plugin}));
    assert_eq!(status, 200, "{installed}");
    assert_eq!(
        (&installed["name"], &installed["version"]),
        (&json!("ship-it"), &json!("1.2"))
    );
    let listed = || stdout(&home.run(&["skills", "list"])).contains("release  (user");
    assert!(listed(), "its skills are there");
    let one = "/api/plugins/installed/ship-it";
    assert_eq!(send("PATCH", one, json!({"enabled": false})).0, 200);
    assert!(!listed());
    assert_eq!(send("GET", one, json!({})).1["enabled"], false);
    assert_eq!(send("DELETE", one, json!({})).0, 200);
    assert_eq!(
        send("GET", "/api/plugins/installed", json!({})).1,
        json!({"plugins": []})
    );
    let (status, none) = send(
        "POST",
        "/api/plugins/install",
        json!({"source": home.work().join("pack")}),
    );
    assert_eq!(status, 400);
    assert!(none["detail"].as_str().unwrap().contains("plugin.json"), "{none}");
}
