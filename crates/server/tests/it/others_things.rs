//! What users keep beside their conversations: for another user it does not exist, on any route.

use std::time::Duration;

use deft_server::{Access, Role};
use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::Desk;

/// The name of everything that Ann has, and what stands in it.
const NAME: &str = "anns_thing";
const INSIDE: &str = "hush_of_ann";
/// Some routes never end by themselves.
const PATIENCE: Duration = Duration::from_secs(5);

struct User<'a> {
    desk: &'a Desk,
    key: String,
}

impl<'a> User<'a> {
    async fn add(desk: &'a Desk, name: &str, role: Role) -> Self {
        let key = desk.add_user(name, role).await;
        Self { desk, key }
    }

    /// Status and text of the answer; nothing of one that does not come.
    async fn ask(&self, method: &Method, path: &str, body: &Value) -> (u16, String) {
        let mut request = self.desk.request(method.clone(), path).timeout(PATIENCE);
        if *method != Method::GET {
            request = request.json(body);
        }
        let Ok(answer) = request.header("X-Session-API-Key", &self.key).send().await else {
            return (0, String::new());
        };
        let status = answer.status().as_u16();
        (status, answer.text().await.unwrap_or_default())
    }

    async fn keeps(&self, method: Method, path: &str, body: Value) -> Value {
        let (status, text) = self.ask(&method, path, &body).await;
        assert!((200..300).contains(&status), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// All that is kept, as its owner sees it.
    async fn kept(&self, id: &str) -> Vec<(u16, String)> {
        let mut kept = Vec::new();
        for path in [
            "/api/settings".to_owned(),
            format!("/api/settings/secrets/{NAME}"),
            format!("/api/profiles/{NAME}"),
            format!("/api/agent-profiles/{NAME}"),
            format!("/api/meta-profiles/{NAME}"),
            "/api/llm/provider-connections".to_owned(),
        ] {
            let answer = self.ask(&Method::GET, &path, &Value::Null).await;
            assert!(
                answer.0 == 200 && (answer.1.contains(INSIDE) || answer.1.contains(id)),
                "{path}"
            );
            kept.push(answer);
        }
        kept
    }
}

#[tokio::test]
async fn on_every_route_another_users_things_are_as_if_they_did_not_exist() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let bob = User::add(&desk, "bob", Role::Member).await;
    let secret = json!({"name": NAME, "value": INSIDE});
    ann.keeps(Method::PUT, "/api/settings/secrets", secret).await;
    let llm = json!({"llm": {"model": "demo", "base_url": format!("http://{INSIDE}.example")}});
    ann.keeps(Method::POST, &format!("/api/profiles/{NAME}"), llm)
        .await;
    let agent = json!({"llm_profile_ref": NAME, "system_message_suffix": INSIDE});
    ann.keeps(Method::POST, &format!("/api/agent-profiles/{NAME}"), agent)
        .await;
    let routes = json!({"classifier_model": NAME, "classes": [{"description": INSIDE, "model": NAME}]});
    ann.keeps(Method::POST, &format!("/api/meta-profiles/{NAME}"), routes)
        .await;
    let connection = json!({"display_name": INSIDE, "api_key": INSIDE});
    let connection = ann
        .keeps(Method::POST, "/api/llm/provider-connections", connection)
        .await;
    let misc = json!({"misc_settings_diff": {"note": INSIDE}});
    ann.keeps(Method::PATCH, "/api/settings", misc).await;
    let profile = ann
        .keeps(Method::GET, &format!("/api/agent-profiles/{NAME}"), Value::Null)
        .await;
    let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
    let names = [NAME.to_owned(), id(&connection), id(&profile["profile"])];
    let before = ann.kept(&names[1]).await;

    let mut tried = 0;
    for (method, path, access) in deft_server::routes() {
        if path.contains("{conversation_id}") || !matches!(access, Access::Key | Access::Bearer) {
            continue;
        }
        for name in &names {
            let parts = path.split('/');
            let parts = parts.map(|part| if part.starts_with('{') { name } else { part });
            let path = parts.collect::<Vec<_>>().join("/");
            let (status, text) = bob.ask(&method, &path, &json!({})).await;
            assert!(!text.contains(INSIDE), "{method} {path}: {status} {text}");
            tried += 1;
        }
    }
    assert!(tried > 200, "{tried}");
    assert_eq!(ann.kept(&names[1]).await, before);
}
