//! Lower crates know nothing of higher ones. The rules stand here; `cargo metadata` tells what is.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// Each crate with those it may depend on, lowest first.
const LAYERS: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("net", &[]),
    ("traces", &["net"]),
    ("risk", &["types"]),
    ("skills", &["types"]),
    ("llm", &["types", "net"]),
    ("acp", &[]),
    ("tools", &["types"]),
    ("store", &["types"]),
    ("browse", &["types", "tools"]),
    ("mcp", &["types", "net", "tools"]),
    ("lsp", &["types", "tools"]),
    ("executor", &["types", "tools"]),
    ("workspace", &["types", "executor"]),
    ("docker", &["types", "executor", "workspace"]),
    ("ssh", &["types", "executor", "workspace"]),
    ("remote", &["types", "net", "executor", "workspace"]),
    ("k8s", &["types", "net", "executor", "workspace"]),
    (
        "engine",
        &[
            "types",
            "risk",
            "skills",
            "llm",
            "acp",
            "tools",
            "executor",
            "workspace",
            "store",
        ],
    ),
    ("client", &["types", "net"]),
    ("server", LIBRARIES),
    ("cli", LIBRARIES),
    ("benches", LIBRARIES),
];

const LIBRARIES: &[&str] = &[
    "types",
    "net",
    "traces",
    "risk",
    "skills",
    "llm",
    "acp",
    "tools",
    "browse",
    "mcp",
    "lsp",
    "store",
    "executor",
    "workspace",
    "docker",
    "ssh",
    "remote",
    "k8s",
    "engine",
    "client",
    "server",
];

#[test]
fn crates_depend_only_on_those_below_them() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = violations(&metadata);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_architecture_page_mentions_every_crate() {
    let Ok(page) = std::fs::read_to_string(root().join("ARCHITECTURE.md")) else {
        return; // not written yet
    };
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        assert!(
            mentions(&page, &name),
            "ARCHITECTURE.md says nothing of crates/{name}"
        );
    }
}

#[test]
fn a_forbidden_edge_is_reported_with_its_rule() {
    let found = violations(&json!({"packages": [
        package("deft-types", &[("serde", Value::Null)]),
        package("deft-llm", &[("deft-types", Value::Null), ("deft-engine", Value::Null)]),
    ]}));
    assert_eq!(found, ["llm → engine is forbidden: llm may depend on types, net"]);
}

#[test]
fn a_test_may_use_every_library_but_no_program() {
    let dev = |name: &str| package("deft-store", &[(name, json!("dev"))]);
    assert_eq!(
        violations(&json!({"packages": [dev("deft-engine")]})),
        Vec::<String>::new()
    );
    for program in ["cli", "benches"] {
        let found = violations(&json!({"packages": [dev(&format!("deft-{program}"))]}));
        let rule = "store may depend on types, and its tests on every library";
        assert_eq!(found, [format!("store → {program} is forbidden: {rule}")]);
    }
}

#[test]
fn a_crate_without_a_rule_is_reported() {
    let found = violations(&json!({"packages": [package("deft-new", &[])]}));
    assert_eq!(
        found,
        ["new has no place in LAYERS (crates/cli/tests/it/layers.rs): add it"]
    );
}

/// What of `cargo metadata` breaks the rules, a sentence each.
fn violations(metadata: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = short(package["name"].as_str().unwrap()).unwrap();
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
            found.push(format!(
                "{name} has no place in LAYERS (crates/cli/tests/it/layers.rs): add it"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            let Some(other) = short(dependency["name"].as_str().unwrap()) else {
                continue; // not ours
            };
            let in_tests = dependency["kind"] == "dev";
            if allowed.contains(&other) || (in_tests && LIBRARIES.contains(&other)) {
                continue;
            }
            let rule = if allowed.is_empty() {
                "none of ours".to_owned()
            } else {
                allowed.join(", ")
            };
            let tests = if in_tests {
                ", and its tests on every library"
            } else {
                ""
            };
            found.push(format!(
                "{name} → {other} is forbidden: {name} may depend on {rule}{tests}"
            ));
        }
    }
    found
}

fn short(package: &str) -> Option<&str> {
    package.strip_prefix("deft-")
}

fn mentions(page: &str, name: &str) -> bool {
    page.contains(&format!("`{name}`")) || page.contains(&format!("crates/{name}"))
}

fn package(name: &str, dependencies: &[(&str, Value)]) -> Value {
    let dependencies: Vec<Value> = dependencies
        .iter()
        .map(|(name, kind)| json!({"name": name, "kind": kind}))
        .collect();
    json!({"name": name, "dependencies": dependencies})
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
