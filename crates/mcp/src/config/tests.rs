use serde_json::json;

use super::*;

fn one(written: &Value) -> Result<Endpoint, String> {
    let config = json!({"mcpServers": {"s": written}});
    let mut servers = ServerConfig::parse(&config).map_err(|error| error.to_string())?;
    Ok(servers.remove(0).endpoint)
}

#[test]
fn programs_and_addresses_are_read_in_both_forms_and_in_their_order() {
    let map = json!({
        "files": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}, "type": "stdio", "icon": "?"},
        "off": {"command": "x", "disabled": true},
        "off2": {"command": "x", "enabled": false},
        "docs": {"url": "https://example.com/mcp", "transport": "streamable-http", "headers": {"X-Key": "k"}},
        "old": {"url": "http://localhost:1/sse", "type": "sse"},
    });
    for config in [map.clone(), json!({"mcpServers": map})] {
        let servers = ServerConfig::parse(&config).unwrap();
        let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["files", "docs", "old"]);
        let Endpoint::Stdio(program) = &servers[0].endpoint else {
            panic!("{servers:?}")
        };
        assert_eq!((program.command.as_str(), program.args.len()), ("npx", 2));
        assert!(matches!(&servers[1].endpoint, Endpoint::Http(remote) if remote.headers.len() == 1));
        assert!(matches!(&servers[2].endpoint, Endpoint::Sse(_)));
        let local = ServerConfig::write(servers.iter().filter(|server| server.is_local()));
        assert_eq!(local, json!({"files": map["files"]}));
    }
}

#[test]
fn auth_becomes_a_header_or_a_way_to_get_a_token() {
    let header = |auth: Value| match one(&json!({"url": "https://x", "auth": auth})).unwrap() {
        Endpoint::Http(remote) => {
            let (name, value) = remote.headers.into_iter().next().unwrap();
            format!("{name}: {}", value.expose())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(header(json!("t")), "Authorization: Bearer t");
    assert_eq!(
        header(json!({"strategy": "bearer", "value": "t"})),
        "Authorization: Bearer t"
    );
    let api_key = json!({"strategy": "api_key", "value": "t", "header_name": "X-Key"});
    assert_eq!(header(api_key), "X-Key: t");
    let basic = json!({"strategy": "basic", "username": "u", "password": "p"});
    assert_eq!(header(basic), "Authorization: Basic dTpw");
    let oauth = json!({"strategy": "oauth2", "authentication": {"client_id": "c", "scopes": "a b"}});
    match one(&json!({"url": "https://x", "auth": oauth})).unwrap() {
        Endpoint::Http(Remote {
            oauth: Some(oauth), ..
        }) => {
            assert_eq!((oauth.client_id.as_deref(), oauth.scopes.len()), (Some("c"), 2));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_read_is_named_and_no_value_is_quoted() {
    for (written, expected) in [
        (json!({}), "neither `command`"),
        (json!({"command": "x", "url": "https://x"}), "both"),
        (json!({"command": " "}), "empty"),
        (json!({"command": "x", "type": "http"}), "stdio"),
        (json!({"url": "file:///etc/passwd"}), "http and https"),
        (
            json!({"url": "https://x", "type": "carrier-pigeon"}),
            "carrier-pigeon",
        ),
        (json!({"command": "x", "args": "sesame"}), "a list of texts"),
        (
            json!({"url": "https://x", "auth": {"strategy": "sesame"}}),
            "its `auth`",
        ),
        (
            json!({"url": "https://x", "auth": "sesame", "headers": {"authorization": "sesame"}}),
            "keep one",
        ),
    ] {
        let error = one(&written).unwrap_err();
        assert!(error.contains("\"s\"") && error.contains(expected), "{error}");
        assert!(!error.contains("sesame"), "{error}");
    }
    assert!(ServerConfig::parse(&json!([])).is_err());
    assert!(ServerConfig::parse(&json!({"": {"command": "x"}})).is_err());
}

#[test]
fn secrets_are_neither_shown_nor_left_in_a_servers_words() {
    let config = json!({"s": {"command": "x", "env": {"TOKEN": "open-sesame"}}});
    let server = ServerConfig::parse(&config).unwrap().remove(0);
    assert!(!format!("{server:?}").contains("open-sesame"));
    let words = server.redact("cannot log in with open-sesame".to_owned());
    assert_eq!(words, "cannot log in with **********");
}

#[test]
fn variables_stand_for_what_the_user_has_set() {
    let variable = |name: &str| (name == "TOKEN").then(|| "${s}ecret".to_owned());
    let put = |written: Value| {
        let mut servers = Map::from_iter([("s".to_owned(), written)]);
        put_variables(&mut servers, &variable)
            .map(|()| servers["s"].clone())
            .map_err(|error| error.to_string())
    };
    let written = json!({
        "command": "${TOKEN}", "args": ["--key=${TOKEN}", "${PORT:-80}", "$HOME ${open"], "env": {"A": "a${TOKEN}b${TOKEN}"},
    });
    assert_eq!(
        put(written).unwrap(),
        json!({
            "command": "${TOKEN}", "args": ["--key=${s}ecret", "80", "$HOME ${open"], "env": {"A": "a${s}ecretb${s}ecret"},
        })
    );
    let missing =
        put(json!({"url": "https://x", "headers": {"Authorization": "Bearer ${OTHER}"}})).unwrap_err();
    assert!(
        missing.contains("`headers` names ${OTHER}, which is not set"),
        "{missing}"
    );
}
