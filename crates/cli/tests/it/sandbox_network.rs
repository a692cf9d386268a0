//! What a sandbox reaches over the network.

use std::fs;
use std::time::Duration;

use deft_workspace::Network;
use deft_workspace::egress::{EgressRequest, Outcome};
use deft_workspace::sandbox::Tier;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

use crate::commands::{Home, lines, stderr, stdout};
use crate::sandbox::{Place, tiers};

#[tokio::test]
async fn n12_without_a_network_nothing_is_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let udp_port = udp.local_addr().unwrap().port();
    for tier in tiers() {
        let place = Place::new();
        let inside = place.open(tier, Network::Off).await;
        for host in ["127.0.0.1", "169.254.169.254", "1.1.1.1"] {
            inside
                .refuses(&format!(
                    "timeout 3 bash -c 'echo hi > /dev/tcp/{host}/{port}' && echo ESCAPED"
                ))
                .await;
        }
        inside
            .run(&format!("echo hi > /dev/udp/127.0.0.1/{udp_port}"))
            .await;
        inside.close().await;
    }
    let nobody = tokio::time::timeout(Duration::ZERO, listener.accept()).await;
    assert!(nobody.is_err(), "somebody came through");
    assert!(udp.try_recv(&mut [0; 8]).is_err(), "something came through");
}

#[tokio::test]
async fn n12_an_allow_list_lets_through_what_it_names_and_records_it() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 1024];
        let length = stream.read(&mut request).await.unwrap();
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nWELCOME";
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let place = Place::new();
    let hosts = vec![format!("127.0.0.1:{port}").parse().unwrap()];
    let inside = place.open(Tier::Namespaces, Network::AllowList { hosts }).await;
    let through_proxy = |address: &str, host: &str| {
        format!(
            "exec 3<>/dev/tcp/${{http_proxy#http://}}; printf 'GET {address} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n' >&3; timeout 20 cat <&3; exec 3<&-"
        )
        .replace("${http_proxy#http://}", "127.0.0.1/${http_proxy##*:}")
    };
    let got = inside
        .run(&through_proxy(&format!("http://127.0.0.1:{port}/a?b"), "x"))
        .await;
    assert!(got.contains("WELCOME"), "{got}");
    let request = server.await.unwrap();
    assert!(
        request.starts_with(&format!("GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n")),
        "{request}"
    );
    for refused in [
        "http://169.254.169.254/latest",
        "http://127.0.0.1:1/",
        "http://evil.example/",
        "http://2130706433/",
    ] {
        let got = inside.run(&through_proxy(refused, "pypi.org")).await;
        assert!(
            got.contains("403 Forbidden") && got.contains("sandbox_allow"),
            "{refused}: {got}"
        );
    }
    // Past the proxy there is nothing.
    inside
        .refuses(&format!(
            "timeout 3 bash -c 'echo hi > /dev/tcp/127.0.0.1/{port}' && echo ESCAPED"
        ))
        .await;
    inside.close().await;
    let record = fs::read_to_string(place.path("state/executors/1/in.egress.jsonl")).unwrap();
    let outcomes: Vec<EgressRequest> = record
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(outcomes.len(), 5, "{record}");
    assert_eq!(outcomes[0].outcome, Outcome::Connected);
    assert_eq!(outcomes[1].outcome, Outcome::NotOnTheList);
}

#[tokio::test]
async fn n12_the_web_is_read_through_the_allow_list_too() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let elsewhere = listener.local_addr().unwrap().port();
    let place = Place::new();
    let network = Network::AllowList { hosts: Vec::new() };
    let inside = place.open(Tier::Namespaces, network).await;
    for url in ["https://docs.example/", "http://169.254.169.254/latest"] {
        let got = inside
            .web("fetch", "MCPToolAction", json!({"data": {"url": url}}))
            .await;
        assert!(got.contains("sandbox_allow"), "{url}: {got}");
    }
    // A server inside is the browser's to see; one outside of the same machine is not there.
    let serve = "mkdir -p site && echo '<h1>from inside</h1>' > site/index.html && (python3 -m http.server 8123 -d site >/dev/null 2>&1 &) ; \
                 for i in $(seq 100); do (: > /dev/tcp/127.0.0.1/8123) 2>/dev/null && break; sleep 0.1; done";
    inside.run(serve).await;
    let navigate = |port: u16| {
        let fields = json!({"url": format!("http://127.0.0.1:{port}/")});
        inside.web("browser_navigate", "BrowserNavigateAction", fields)
    };
    let got = navigate(elsewhere).await;
    assert!(!got.contains("Went to"), "{got}");
    let got = navigate(8123).await;
    inside.close().await;
    assert!(
        got.contains("127.0.0.1:8123") && !got.contains("could not"),
        "{got}"
    );
}

#[tokio::test]
async fn what_the_web_tools_reach_without_a_sandbox_is_a_setting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 1024]).await;
            let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\nConnection: close\r\n\r\nWELCOME";
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    for (setting, expected) in [
        (None, "may not reach"),
        (Some("public"), "may not reach"),
        (Some("loopback"), "WELCOME"),
        (Some("all"), "WELCOME"),
    ] {
        let place = Place::new();
        let inside = place.open_wide(setting).await;
        let got = inside
            .web("fetch", "MCPToolAction", json!({"data": {"url": url}}))
            .await;
        inside.close().await;
        assert!(got.contains(expected), "{setting:?}: {got}");
    }
}

#[tokio::test]
async fn what_is_served_inside_is_reached_by_way_of_the_executor_alone() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let place = Place::new();
    let inside = place.open(Tier::Namespaces, Network::Off).await;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    inside
        .run(&format!(
            "echo INSIDE > page; python3 -m http.server --bind 127.0.0.1 {port} > log 2>&1 &"
        ))
        .await;
    let served = async {
        while inside.client().ports().await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut stream = inside.client().connect_port(port).await.unwrap();
        stream.write_all(b"GET /page HTTP/1.0\r\n\r\n").await.unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).await.unwrap();
        page
    };
    let page = tokio::time::timeout(Duration::from_secs(60), served)
        .await
        .unwrap();
    assert!(page.ends_with("INSIDE\n"), "{page}");
    let outside = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
    assert!(outside.is_err(), "the sandbox has a network of its own");
    inside.close().await;
}

#[test]
fn n12_a_repository_that_an_agent_has_made_opens_the_network_to_no_host() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let home = Home::new();
    let begin = "mkdir .git; printf '[remote \"o\"]\\nurl = https://forge.localhost/x\\n' > .git/config";
    let ask = "exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}; printf 'GET http://forge.localhost/ HTTP/1.1\\r\\n\\r\\n' >&3; \
               timeout 20 cat <&3; echo answered";
    // The executor, without which another one is started.
    let commands = [begin, "kill -9 $PPID", ask];
    let calls = commands
        .map(|command| json!({"tool_calls": [{"name": "terminal", "arguments": {"command": command}}]}));
    let script = home.script(&json!(calls).to_string());
    for _ in 0..2 {
        let ran = home.run(&["run", "-t", "ask", "--model", &script]);
        assert!(ran.status.success(), "{}", stderr(&ran));
        let shown = stdout(&ran);
        assert!(
            shown.contains("answered") && shown.contains("403 Forbidden"),
            "{shown}"
        );
        assert!(
            shown.contains("forge.localhost:80 is not on the allow-list"),
            "{shown}"
        );
    }
    // The same repository where it was made outside, before: the host is looked up.
    let other = Home::new();
    std::process::Command::new("cp")
        .arg("-r")
        .args([home.work().join(".git"), other.work().join(".git")])
        .status()
        .unwrap();
    let ran = other.run(&["run", "-t", "ask", "--model", &script]);
    let shown = stdout(&ran);
    assert!(
        shown.contains("forge.localhost leads to an address of a private network"),
        "{shown}"
    );
}

#[test]
fn requests_to_the_network_become_events_of_the_conversation() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let home = Home::new();
    let ask = "python3 -c \\\"import urllib.request as u; u.urlopen('http://refused.example/')\\\"";
    let script = format!(
        "- tool_calls: [{{name: terminal, arguments: {{command: \"{ask}; {ask}\"}}}}]\n\
         - tool_calls: [{{name: finish, arguments: {{message: done}}}}]\n"
    );
    let ran = home.run(&["run", "-t", "ask", "--model", &home.script(&script), "--json"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let conversations = lines(&home.run(&["list", "--json"]));
    let id = conversations[0]["id"].as_str().unwrap();
    let shown = stdout(&home.run(&["show", id]));
    let told: Vec<_> = shown.lines().filter(|line| line.contains("network: ")).collect();
    assert_eq!(told.len(), 1, "{shown}");
    assert!(
        told[0].ends_with("network: refused.example:80 not on the list ×2"),
        "{told:?}"
    );
}
