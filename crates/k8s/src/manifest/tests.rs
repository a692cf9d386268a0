use super::*;

fn manifest(options: &Options) -> Manifest<'_> {
    Manifest {
        name: "deft-1",
        image: "debian:12",
        delivery: &Delivery::Stream,
        conversation: "1",
        owner: "me",
        version: "1.0",
        command: vec!["executor".to_owned()],
        options,
    }
}

#[test]
fn a_pod_has_what_was_asked_for_and_no_rights() {
    let options = Options {
        cpu: Some("2".to_owned()),
        node_selector: BTreeMap::from([("disk".to_owned(), "fast".to_owned())]),
        tolerations: vec![
            Toleration {
                key: "gpu".to_owned(),
                value: None,
            },
            Toleration {
                key: "team".to_owned(),
                value: Some("ours".to_owned()),
            },
        ],
        pull_secret: Some("registry".to_owned()),
        lifetime: Duration::from_secs(600),
        ..Options::default()
    };
    let pod = manifest(&options).pod();
    let spec = &pod["spec"];
    assert_eq!(pod["metadata"]["labels"][OWNER], "me");
    assert_eq!(pod["metadata"]["labels"][CONVERSATION], "1");
    assert_eq!(spec["nodeSelector"], json!({"disk": "fast"}));
    let tolerations = spec["tolerations"].as_array().unwrap();
    assert_eq!(tolerations[0], json!({"key": "gpu", "operator": "Exists"}));
    assert_eq!(
        tolerations[1],
        json!({"key": "team", "operator": "Equal", "value": "ours"})
    );
    assert_eq!(spec["imagePullSecrets"], json!([{"name": "registry"}]));
    assert_eq!(spec["activeDeadlineSeconds"], 600);
    assert_eq!(spec["automountServiceAccountToken"], false);
    assert_eq!(spec["securityContext"]["runAsNonRoot"], true);
    assert_eq!(
        spec["securityContext"]["seccompProfile"]["type"],
        "RuntimeDefault"
    );
    for container in [&spec["initContainers"][0], &spec["containers"][0]] {
        assert_eq!(
            container["resources"],
            json!({
                "limits": {"memory": "4Gi", "cpu": "2"}, "requests": {"memory": "256Mi", "cpu": "100m"},
            })
        );
        assert_eq!(
            container["securityContext"],
            json!({
                "allowPrivilegeEscalation": false, "privileged": false, "capabilities": {"drop": ["ALL"]},
            })
        );
    }
}

#[test]
fn nobody_reaches_a_pod_and_it_reaches_nobody_unless_that_was_asked_for() {
    for (network, egress) in [(Network::None, json!([])), (Network::All, json!([{}]))] {
        let options = Options {
            network,
            ..Options::default()
        };
        let policy = manifest(&options).network_policy();
        assert_eq!(
            policy["spec"],
            json!({
                "podSelector": {"matchLabels": {CONVERSATION: "1"}}, "policyTypes": ["Ingress", "Egress"],
                "ingress": [], "egress": egress,
            })
        );
    }
}
