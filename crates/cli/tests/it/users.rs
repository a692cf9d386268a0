//! `deft users`, `deft keys` and `deft audit`, and what a running server makes of them.

use std::time::{Duration, Instant};

use deft_client::{Client, ClientError, NewConversation};
use deft_types::{Secret, Status};

use crate::commands::{Home, lines, stderr, stdout};
use crate::serve::Served;

const LIMIT: Duration = Duration::from_secs(60);
/// How soon a revoked key opens nothing any more.
const SOON: Duration = Duration::from_secs(5);

fn done(home: &Home, args: &[&str]) -> String {
    let output = home.run(args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

fn key(home: &Home, args: &[&str]) -> String {
    let key = done(home, &[&["keys", "create"], args].concat());
    key.trim().to_owned()
}

fn client(served: &Served, key: &str) -> Client {
    Client::new(&served.address(), &Secret::new(key.to_owned())).unwrap()
}

#[tokio::test]
async fn users_and_keys_are_made_used_and_taken_away_while_the_server_runs() {
    let home = Home::new();
    let served = Served::start(&home, &[]);
    assert!(done(&home, &["users", "list"]).contains("yours alone"));
    let refused = home.run(&["users", "add", "ann"]);
    assert!(
        !refused.status.success() && stderr(&refused).contains("admin"),
        "{}",
        stderr(&refused)
    );
    done(&home, &["users", "add", "me", "--role", "admin"]);
    done(
        &home,
        &[
            "users",
            "add",
            "ann",
            "--max-conversations",
            "5",
            "--max-spend",
            "2.5",
        ],
    );
    assert!(done(&home, &["users", "list"]).contains("5 conversations, $2.5"));
    let anns = key(&home, &["--user", "ann", "--label", "laptop", "--days", "3"]);
    let ann = client(&served, &anns);
    assert_eq!(ann.conversations().await.unwrap().len(), 0);
    let listed = home.run(&["keys", "list", "--json"]);
    let [listed] = lines(&listed).try_into().unwrap();
    assert_eq!(
        (listed["user"].as_str(), listed["label"].as_str()),
        (Some("ann"), Some("laptop"))
    );
    assert!(
        !listed.to_string().contains(anns.rsplit('_').next().unwrap()),
        "the key itself is shown once"
    );
    done(&home, &["keys", "revoke", listed["id"].as_str().unwrap()]);
    let revoked = Instant::now();
    while !matches!(ann.conversations().await, Err(ClientError::Unauthorized)) {
        assert!(revoked.elapsed() < SOON, "the key still opens the server");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let audit = done(&home, &["audit"]);
    for what in [
        "ann is a new user",
        "is revoked",
        "401  GET /api/conversations/search",
    ] {
        assert!(audit.contains(what), "{what}: {audit}");
    }
}

#[tokio::test]
async fn an_agent_of_one_user_cannot_read_the_files_of_another() {
    let home = Home::new();
    let file = home.script("- tool_calls: [{name: finish, arguments: {message: here}}]\n");
    std::fs::create_dir(home.root.path().join(".deft")).unwrap();
    let models = format!("[models.scripted]\nmodel = {file:?}\n");
    std::fs::write(home.root.path().join(".deft/deft.toml"), models).unwrap();
    let served = Served::start(&home, &[("DEFT_EXECUTOR_LINGER", "20")]);
    done(&home, &["users", "add", "me", "--role", "admin"]);
    for name in ["ann", "bob"] {
        done(&home, &["users", "add", name]);
    }
    let bob = client(&served, &key(&home, &["--user", "bob"]));
    bob.begin(&NewConversation::new("scripted", "work"))
        .await
        .unwrap();
    let homes = home.root.path().join(".deft/homes");
    std::fs::write(homes.join("bob/work/secret.txt"), "of-bob").unwrap();
    let ann = client(&served, &key(&home, &["--user", "ann"]));
    let look = format!(
        "- tool_calls: [{{name: terminal, arguments: {{command: 'pwd; cat {}/bob/work/secret.txt; cat {}/deft.db'}}}}]\n\
         - tool_calls: [{{name: finish, arguments: {{message: done}}}}]\n",
        homes.display(),
        home.root.path().join(".deft").display(),
    );
    home.script(&look);
    let ask = async |model: &str| {
        let conversation = ann.begin(&NewConversation::new(model, "work")).await.unwrap();
        conversation.send("look").await.unwrap();
        conversation.run().await.unwrap();
        let settled = tokio::time::timeout(LIMIT, conversation.settled()).await;
        (settled.unwrap().unwrap(), conversation)
    };
    assert_eq!(
        ask(&file).await.0,
        Status::Error,
        "a file of the server is no model of hers"
    );
    let (settled, conversation) = ask("scripted").await;
    assert_eq!(settled, Status::Finished);
    let events = serde_json::to_string(&conversation.events().await.unwrap()).unwrap();
    assert!(events.contains("homes/ann/work"), "{events}");
    assert!(
        events.contains("No such file") && !events.contains("of-bob"),
        "{events}"
    );
}
