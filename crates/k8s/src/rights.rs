//! Whether we may do what workspaces need, as `docs/kubernetes-rbac.yaml` grants it.

use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::api::Ask;
use crate::cluster::Cluster;
use crate::error::K8sError;

/// Where one asks what one may do.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// Of each group of the API: a resource, the part of it, and what is done with that.
const NEEDED: &[(&str, &str, &str, &[&str])] = &[
    ("", "pods", "", &["create", "get", "list", "delete"]),
    ("", "pods", "exec", &["get", "create"]),
    ("", "persistentvolumeclaims", "", &["create", "list", "delete"]),
    (
        "networking.k8s.io",
        "networkpolicies",
        "",
        &["create", "list", "delete"],
    ),
];

impl Cluster {
    /// Asks whether everything that workspaces need is granted in our namespace; nothing is made.
    pub async fn check_rights(&self) -> Result<(), K8sError> {
        let needed = NEEDED.iter().flat_map(|(group, resource, part, verbs)| {
            verbs.iter().map(
                move |verb| json!({"group": group, "resource": resource, "subresource": part, "verb": verb}),
            )
        });
        let answers = try_join_all(needed.map(|right| self.lacks(right))).await?;
        let lacking: Vec<_> = answers.into_iter().flatten().collect();
        if lacking.is_empty() {
            return Ok(());
        }
        Err(K8sError::Forbidden {
            what: "do all that workspaces need",
            message: lacking.join(", "),
        })
    }

    /// The right in words, if it is not granted.
    async fn lacks(&self, mut right: Value) -> Result<Option<String>, K8sError> {
        right["namespace"] = json!(self.namespace);
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": right},
        });
        let answer = self
            .ask(Ask::create("tell what we may do", REVIEWS, review))
            .await?;
        if answer["status"]["allowed"] == true {
            return Ok(None);
        }
        let text = |name: &str| right[name].as_str().unwrap_or_default().to_owned();
        let (verb, resource, part) = (text("verb"), text("resource"), text("subresource"));
        let slash = if part.is_empty() { "" } else { "/" };
        Ok(Some(format!("{verb} {resource}{slash}{part}")))
    }
}
