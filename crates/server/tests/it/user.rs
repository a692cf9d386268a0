//! Users of the server, each with a key of their own.

use std::collections::BTreeSet;

use deft_server::{KeyScope, NewAccount, Quota, Role};
use reqwest::Method;
use serde_json::Value;

use crate::desk::{Desk, FINISH, Talk};

/// Somebody who uses the server.
pub(crate) struct User<'a> {
    pub(crate) desk: &'a Desk,
    pub(crate) key: String,
}

impl<'a> User<'a> {
    pub(crate) async fn add(desk: &'a Desk, name: &str, role: Role) -> Self {
        Self::add_with(desk, name, role, None, Quota::default()).await
    }

    pub(crate) async fn add_with(
        desk: &'a Desk,
        name: &str,
        role: Role,
        sees: Option<&str>,
        quota: Quota,
    ) -> Self {
        let new = NewAccount {
            name: name.to_owned(),
            role,
            email: None,
            sees: sees.map(str::to_owned),
            folders: Vec::new(),
            quota,
        };
        desk.accounts().add(new).await.unwrap();
        Self::with_key(desk, name, None).await
    }

    /// A member who may spend one.
    pub(crate) async fn add_with_dollar(desk: &'a Desk, name: &str) -> Self {
        let quota = Quota {
            spend: "1".parse().ok(),
            ..Quota::default()
        };
        Self::add_with(desk, name, Role::Member, None, quota).await
    }

    pub(crate) async fn with_key(desk: &'a Desk, name: &str, scopes: Option<BTreeSet<KeyScope>>) -> Self {
        let (_, key) = desk.accounts().create_key(name, "", scopes, None).await.unwrap();
        let key = key.expose().clone();
        Self { desk, key }
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let request = self
            .desk
            .request(method.clone(), path)
            .header("X-Session-API-Key", &self.key);
        let request = if method == Method::GET {
            request
        } else {
            request.json(&body)
        };
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (
            status,
            serde_json::from_str(&text).unwrap_or_else(|_| text.into()),
        )
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask(Method::GET, path, Value::Null).await;
        assert_eq!(status, 200, "GET {path}: {body}");
        body
    }

    /// Begins a conversation in a directory of their own.
    pub(crate) async fn begin(&self, directory: &str) -> (u16, Value) {
        let model = self.desk.script("script.yaml", FINISH);
        let mut request = self.desk.start_request(&model);
        request["workspace"]["working_dir"] = directory.into();
        self.ask(Method::POST, "/api/conversations", request).await
    }

    pub(crate) async fn talk(&self) -> Talk {
        let (status, info) = self.begin("work").await;
        assert_eq!(status, 201, "{info}");
        Talk(info["id"].as_str().unwrap().to_owned())
    }
}
