//! Our table of routes beside the contract's list of paths.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::contract_document::{CONTRACT, unnamed};

/// What the contract has and we have not, and why.
const NOT_OURS: [(&str, &str); 0] = [];

/// What we have and the contract has not, and why.
const ONLY_OURS: &[(&str, &str)] = &[
    (
        "GET /api/conversations/{}/mcp_servers",
        "how the servers of tools are doing",
    ),
    (
        "POST /api/conversations/{}/mcp_servers",
        "a person agrees to what a server of tools is now",
    ),
    (
        "GET /api/conversations/{}/delegates",
        "where the agents work that are called by name",
    ),
    (
        "GET /api/conversations/{}/trust",
        "what a project would run by itself",
    ),
    (
        "POST /api/conversations/{}/trust",
        "what a project would run by itself",
    ),
    (
        "GET /api/conversations/{}/allow_rules",
        "what a person has allowed once and for all",
    ),
    (
        "POST /api/conversations/{}/allow_rules",
        "what a person has allowed once and for all",
    ),
    (
        "DELETE /api/conversations/{}/allow_rules",
        "what a person has allowed once and for all",
    ),
    (
        "GET /api/conversations/{}/host_questions",
        "hosts that programs wait for",
    ),
    (
        "POST /api/conversations/{}/host_questions",
        "hosts that programs wait for",
    ),
    (
        "GET /api/conversations/{}/allowed_hosts",
        "what a person has allowed once and for all",
    ),
    (
        "DELETE /api/conversations/{}/allowed_hosts",
        "what a person has allowed once and for all",
    ),
    (
        "POST /api/conversations/prepare-for-sandbox-pause",
        "the contract's server has it and does not say so",
    ),
    (
        "PUT /api/conversations/{}/credential-bindings/{}",
        "the contract's server has it and does not say so",
    ),
    ("GET /api/app", "what our own app offers to begin with"),
    (
        "POST /api/app/demo",
        "the place of a demonstration for our own app",
    ),
    ("GET /api/app/local_models", "models near by, for our own app"),
    (
        "POST /api/app/check_model",
        "which layer of a model's connection fails",
    ),
    (
        "GET /api/conversations/{}/context",
        "what the model would be sent next",
    ),
    ("GET /api/conversations/{}/entries", "files to browse"),
    ("GET /api/conversations/{}/entries/search", "names to complete"),
    (
        "GET /api/file/search_entries",
        "names to complete in a first message",
    ),
    (
        "GET /api/conversations/{}/checkpoints",
        "moments that files can go back to",
    ),
    (
        "GET /api/conversations/{}/checkpoints/{}",
        "what going back would change",
    ),
    ("POST /api/conversations/{}/checkpoints/{}", "goes back"),
    (
        "POST /api/conversations/{}/answers",
        "answers for single actions, and with other arguments",
    ),
    ("GET /api/conversations/{}/ports", "what programs serve"),
    (
        "POST /api/conversations/{}/ports/{}",
        "a browser's way to what programs serve",
    ),
    ("GET /api/conversations/{}/resources", "what a workspace uses"),
    ("GET /c/{}", "a page of our own app"),
    ("GET /s", "a page of our own app"),
    ("GET /api/conversations/{}/shares", "links to a conversation"),
    ("POST /api/conversations/{}/shares", "links to a conversation"),
    (
        "DELETE /api/conversations/{}/shares/{}",
        "links to a conversation",
    ),
    ("GET /api/shared", "what a link opens"),
    ("GET /api/shared/history", "what a link opens"),
    ("GET /sockets/shared", "what a link opens"),
    ("GET /api/settings/git_accounts", "tokens for forges"),
    ("PUT /api/settings/git_accounts", "tokens for forges"),
    ("DELETE /api/settings/git_accounts/{}", "tokens for forges"),
    (
        "GET /api/settings/git_accounts/{}/repositories",
        "repositories to begin with",
    ),
    ("POST /api/git/clones", "brings a repository here"),
    ("GET /api/git/clones/{}", "brings a repository here"),
    ("DELETE /api/git/clones/{}", "brings a repository here"),
    (
        "GET /api/conversations/{}/git/remote",
        "where a repository is shared",
    ),
    ("POST /api/conversations/{}/git/push", "pushes a branch"),
    (
        "POST /api/conversations/{}/git/pull_request",
        "opens a pull request",
    ),
    (
        "GET /api/tools",
        "the contract's server redirects it without listing it",
    ),
    (
        "GET /api/conversations/{}/stream",
        "the frames of the session socket as server-sent events",
    ),
    (
        "GET /api/conversations/{}/workspace/",
        "the contract's server answers it without listing it",
    ),
    (
        "GET /api/conversations/{}/history",
        "a log from its end, with positions, for our own app",
    ),
    ("GET /metrics", "figures for Prometheus"),
    ("GET /openapi.json", "the document does not list itself"),
    ("GET /docs", "the document lists no pages"),
    ("GET /redoc", "the document lists no pages"),
    ("GET /api/webhooks", "what became of webhooks"),
    ("POST /api/webhooks", "webhooks that are added in the app"),
    ("PATCH /api/webhooks/{}", "webhooks that are added in the app"),
    ("DELETE /api/webhooks/{}", "webhooks that are added in the app"),
    ("POST /api/webhooks/{}/test", "whether a receiver answers"),
    ("DELETE /api/webhooks/{}/dead_letters", "what became of webhooks"),
    ("POST /api/webhooks/{}/redeliver", "what became of webhooks"),
    (
        "GET /api/mcp/oauth/return/{}",
        "where a browser comes back to from a login to an MCP server",
    ),
    ("GET /api/auth/methods", "signing in with another account"),
    ("GET /api/auth/login", "signing in with another account"),
    ("GET /api/auth/callback", "signing in with another account"),
    ("POST /api/auth/logout", "signing in with another account"),
    ("GET /api/users", "several users, for admins"),
    ("POST /api/users", "several users, for admins"),
    ("PATCH /api/users/{}", "several users, for admins"),
    ("GET /api/devices", "keys for one's own telephone"),
    ("POST /api/devices", "keys for one's own telephone"),
    ("DELETE /api/devices/{}", "keys for one's own telephone"),
    ("GET /api/keys", "several users, for admins"),
    ("POST /api/keys", "several users, for admins"),
    ("DELETE /api/keys/{}", "several users, for admins"),
    ("GET /api/audit", "several users, for admins"),
    (
        "GET /api/conversations/{}/queue",
        "messages that wait for the end of the turn",
    ),
    ("POST /api/conversations/{}/queue", "the same"),
    ("PUT /api/conversations/{}/queue", "the same"),
    ("PATCH /api/conversations/{}/queue/{}", "the same"),
    ("DELETE /api/conversations/{}/queue/{}", "the same"),
    ("GET /api/conversations/{}/budget", "what a conversation may use"),
    ("PUT /api/conversations/{}/budget", "the same"),
    ("POST /api/conversations/{}/budget", "the same"),
    ("GET /api/conversations/{}/plan", "an agent that only plans"),
    ("POST /api/conversations/{}/plan", "the same"),
    ("DELETE /api/conversations/{}/plan", "the same"),
    ("POST /api/conversations/{}/plan/approve", "the same"),
    (
        "POST /api/conversations/{}/rerun",
        "what was done in a workspace is done again",
    ),
    (
        "POST /api/conversations/{}/rewind",
        "conversation and files go back",
    ),
    ("GET /sockets/events/{}", "sockets are not listed"),
    ("GET /sockets/session/{}", "sockets are not listed"),
    ("GET /sockets/bash-events", "sockets are not listed"),
    ("GET /sockets/console/{}", "a terminal for a person"),
    (
        "GET /api/conversations/{}/git/review",
        "a file for a reviewer, with its version",
    ),
    (
        "POST /api/conversations/{}/git/revert",
        "a file as it was, byte by byte",
    ),
    ("GET /sockets/browser/{}", "what the agent's browser shows"),
    ("GET /sockets/executor/{}", "our own, for another Deft"),
];

/// A path without the names of its parameters, which are nobody's business.
#[test]
fn every_difference_between_our_routes_and_the_contract_has_its_reason() {
    let contract: BTreeMap<String, Value> = serde_json::from_str(CONTRACT).unwrap();
    let contract: BTreeSet<_> = contract.keys().map(|route| unnamed(route)).collect();
    let ours: BTreeSet<_> = deft_server::routes()
        .into_iter()
        .map(|(method, path, _)| unnamed(&format!("{method} {path}")))
        .collect();
    let missing: Vec<_> = contract.difference(&ours).map(String::as_str).collect();
    let expected: Vec<_> = NOT_OURS.iter().map(|(route, _)| *route).collect();
    assert_eq!(missing, expected, "what the contract has and we have not");
    // Files of the web app are there when it was built, under names that change.
    let files = [
        "GET /apple-touch-icon.png",
        "GET /favicon.svg",
        "GET /manifest.webmanifest",
    ];
    let is_file = |route: &&str| route.starts_with("GET /assets/") || files.contains(route);
    let extra = ours.difference(&contract).map(String::as_str);
    let extra: BTreeSet<_> = extra.filter(|route| !is_file(route)).collect();
    let expected: BTreeSet<_> = ONLY_OURS.iter().map(|(route, _)| *route).collect();
    assert_eq!(extra, expected, "what we have and the contract has not");
}
