//! Ports of workspaces in a browser: real programs, seen under an origin of their own.

use std::time::Duration;

use deft_server::{NewAccount, Quota, Role};
use futures::{SinkExt as _, StreamExt as _};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::desk::{Desk, FINISH, KEY, Talk};

/// Far longer than anything takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A program that tells what it was asked, echoes what a WebSocket says, and writes its port into a file.
const PROGRAM: &str = r#"
import base64, hashlib, http.server, json, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *_): pass
    def do_GET(self):
        if self.headers.get('Upgrade') == 'websocket': return self.echo()
        body = json.dumps({'method': self.command, 'path': self.path, 'body': self.body(),
            'headers': {k.lower(): v for k, v in self.headers.items()}}).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.send_header('Content-Type', 'application/json')
        self.send_header('Set-Cookie', 'deft_preview=stolen')
        self.send_header('Set-Cookie', 'theirs=1; Path=/')
        self.send_header('X-Frame-Options', 'DENY')
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def body(self):
        return self.rfile.read(int(self.headers.get('Content-Length') or 0)).decode()
    def echo(self):
        code = (self.headers['Sec-WebSocket-Key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()
        self.send_response(101)
        self.send_header('Upgrade', 'websocket')
        self.send_header('Connection', 'Upgrade')
        self.send_header('Sec-WebSocket-Accept', base64.b64encode(hashlib.sha1(code).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while True:
            head = self.rfile.read(2)
            if len(head) < 2: return
            length, mask = head[1] & 127, self.rfile.read(4)
            said = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(length)))
            if head[0] & 15 != 1: return
            self.wfile.write(bytes([0x81, len(said)]) + said)
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
open('pid', 'w').write(str(os.getpid()))
open('port.part', 'w').write(str(server.server_port))
os.rename('port.part', 'port')
server.serve_forever()
"#;

/// Has a program of the workspace serve; gives its port.
async fn serve(desk: &Desk, talk: &Talk) -> u16 {
    std::fs::write(desk.work().join("serve.py"), PROGRAM).unwrap();
    let command = json!({"command": "exec python3 serve.py", "cwd": desk.work(), "timeout": 300});
    desk.post(&talk.path("/bash/start_bash_command"), command).await;
    let file = desk.work().join("port");
    let there = async {
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, there).await.unwrap();
    std::fs::read_to_string(file).unwrap().parse().unwrap()
}

/// A browser that looks at one preview.
struct Browser {
    http: reqwest::Client,
    /// The name that it calls, and the port behind it.
    host: String,
    cookie: String,
}

impl Browser {
    /// Follows the address that opens a preview.
    async fn open(url: &str) -> Self {
        let mut browser = Self::without_cookie(url);
        let answer = browser.get(browser.path_of(url)).send().await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["location"]),
            (303, &"/".parse().unwrap())
        );
        let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
        assert!(cookie.contains("HttpOnly") && cookie.contains("Partitioned") && !cookie.contains("Domain"));
        browser.cookie = cookie.split(';').next().unwrap().to_owned();
        browser
    }

    fn without_cookie(url: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default(); // another test may have
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        Self {
            http: http.build().unwrap(),
            host: url.split('/').nth(2).unwrap().to_owned(),
            cookie: String::new(),
        }
    }

    fn path_of<'a>(&self, url: &'a str) -> &'a str {
        url.split_once(&self.host).unwrap().1
    }

    fn origin(&self) -> String {
        format!("http://{}", self.host)
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.host.split(':').nth(1).unwrap())
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self
            .http
            .request(method, format!("http://{}{path}", self.address()));
        let cookies = format!("own=yes; {}", self.cookie);
        request
            .header("Host", &self.host)
            .header("Cookie", cookies)
            .timeout(LIMIT)
    }

    fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.request(Method::GET, path)
    }

    async fn status(&self, path: &str) -> u16 {
        self.get(path).send().await.unwrap().status().as_u16()
    }

    async fn socket(&self, origin: &str) -> Result<WebSocketStream<MaybeTlsStream<TcpStream>>, SocketError> {
        let mut request = format!("ws://{}/echo", self.address()).into_client_request()?;
        for (name, value) in [
            ("Host", &self.host),
            ("Cookie", &self.cookie),
            ("Origin", &origin.to_owned()),
        ] {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        Ok(tokio_tungstenite::connect_async(request).await?.0)
    }
}

async fn opened(desk: &Desk, talk: &Talk, port: u16) -> String {
    let answer = desk.post(&talk.path(&format!("/ports/{port}")), json!({})).await;
    answer["url"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_served_port_is_listed_and_seen_under_its_own_origin_and_the_program_sees_nothing_of_ours() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    assert_eq!(desk.get(&talk.path("/ports")).await, json!({"ports": []}));
    let port = serve(&desk, &talk).await;
    let used = &desk.get(&talk.path("/resources")).await["resources"];
    assert!(used["processes"].as_u64().unwrap() > 0, "{used}");
    assert!(used["memory_bytes"].as_u64().unwrap() > 1_000_000, "{used}");
    let listed = desk.get(&talk.path("/ports")).await;
    assert_eq!(listed["ports"][0]["port"], json!(port), "{listed}");
    let browser = Browser::open(&opened(&desk, &talk, port).await).await;
    assert!(browser.host.starts_with(&format!("p{port}-")) && browser.host.contains(".localhost:"));
    assert_ne!(browser.address(), desk.address.to_string());
    let answer = browser
        .get("/a/b?c=d")
        .header("X-Session-API-Key", KEY)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let all: Vec<_> = answer.headers().get_all("set-cookie").iter().collect();
    assert_eq!(all, ["theirs=1; Path=/; SameSite=None; Secure; Partitioned"]);
    assert!(!answer.headers().contains_key("x-frame-options"));
    assert_eq!(
        answer.headers()["content-security-policy"],
        "frame-ancestors 'self'"
    );
    let seen: Value = answer.json().await.unwrap();
    assert_eq!(seen["path"], "/a/b?c=d");
    let heard = &seen["headers"];
    assert_eq!(
        (&heard["host"], &heard["cookie"]),
        (&json!(format!("localhost:{port}")), &json!("own=yes"))
    );
    assert!(!seen.to_string().contains(KEY), "{seen}");
    let posted = browser
        .request(Method::POST, "/form")
        .header("Origin", browser.origin())
        .body("x=1");
    let seen: Value = posted.send().await.unwrap().json().await.unwrap();
    assert_eq!((&seen["method"], &seen["body"]), (&json!("POST"), &json!("x=1")));
    assert_eq!(
        seen["headers"]["origin"],
        json!(format!("http://localhost:{port}"))
    );
}

#[tokio::test]
async fn a_websocket_goes_through_for_pages_of_the_preview_alone() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let port = serve(&desk, &talk).await;
    let browser = Browser::open(&opened(&desk, &talk, port).await).await;
    let mut socket = browser.socket(&browser.origin()).await.unwrap();
    for said in ["one", "two"] {
        socket.send(Message::text(said)).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(said));
    }
    for foreign in [
        "https://evil.example",
        "null",
        &format!("http://{}", desk.address),
    ] {
        assert!(browser.socket(foreign).await.is_err(), "{foreign}");
    }
}

#[tokio::test]
async fn without_the_ticket_the_name_and_the_page_there_is_nothing_to_see() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let port = serve(&desk, &talk).await;
    let url = opened(&desk, &talk, port).await;
    let stranger = Browser::without_cookie(&url);
    assert_eq!(stranger.status("/").await, 401);
    assert_eq!(stranger.status("/__deft/enter?ticket=guess").await, 401);
    let browser = Browser::open(&url).await;
    assert_eq!(
        stranger.status(stranger.path_of(&url)).await,
        401,
        "it is good once"
    );
    // Our own key opens nothing there, and the cookie nothing here.
    let with_key = stranger.get("/").header("X-Session-API-Key", KEY);
    assert_eq!(with_key.send().await.unwrap().status(), 401);
    let here = desk
        .request(Method::GET, &talk.path(""))
        .header("Cookie", &browser.cookie);
    assert_eq!(here.send().await.unwrap().status(), 401);
    for host in ["localhost", "127.0.0.1", "evil.example", "a.b.localhost"] {
        let request = browser.get("/").header("Host", host);
        let refused = request.send().await.unwrap().status();
        assert_eq!(refused, 421, "{host}");
    }
    // Another preview's name with this one's cookie.
    let other = Browser {
        host: browser.host.replacen('p', "q", 1),
        cookie: browser.cookie.clone(),
        ..Browser::without_cookie(&url)
    };
    assert_eq!(other.status("/").await, 401);
    let foreign = browser
        .request(Method::POST, "/")
        .header("Origin", "https://evil.example");
    assert_eq!(foreign.send().await.unwrap().status(), 403);
    let embedded = browser
        .get("/")
        .header("Sec-Fetch-Site", "cross-site")
        .header("Sec-Fetch-Mode", "no-cors");
    assert_eq!(embedded.send().await.unwrap().status(), 403);
    let followed = browser
        .get("/")
        .header("Sec-Fetch-Site", "cross-site")
        .header("Sec-Fetch-Mode", "navigate");
    assert_eq!(followed.send().await.unwrap().status(), 200);
    // What no program of the workspace serves cannot be opened: here, the server itself.
    let own = talk.path(&format!("/ports/{}", desk.address.port()));
    assert_eq!(desk.refusal(Method::POST, &own, json!({})).await.0, 404);
    assert_eq!(
        desk.refusal(Method::POST, &talk.path("/ports/x"), json!({}))
            .await
            .0,
        404
    );
}

#[tokio::test]
async fn the_app_may_frame_previews_and_nothing_else_and_they_are_framed_by_it_alone() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let port = serve(&desk, &talk).await;
    let app = format!("http://{}", desk.address);
    let request = desk.request(Method::POST, &talk.path(&format!("/ports/{port}")));
    let request = request
        .header("X-Session-API-Key", KEY)
        .header("Origin", &app)
        .json(&json!({}));
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    let browser = Browser::open(answer["url"].as_str().unwrap()).await;
    let shown = browser.get("/").send().await.unwrap();
    let expected = format!("frame-ancestors 'self' {app}");
    assert_eq!(shown.headers()["content-security-policy"], expected);
    let page = desk
        .request(Method::GET, "/")
        .header("Accept", "text/html")
        .send()
        .await
        .unwrap();
    let policy = page.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    let port = browser.address().split_once(':').unwrap().1.to_owned();
    assert!(
        policy.ends_with(&format!("; frame-src http://*.localhost:{port}")),
        "{policy}"
    );
}

#[tokio::test]
async fn a_key_that_is_revoked_closes_what_it_has_opened() {
    let desk = Desk::new().await;
    for (name, role) in [("root", Role::Admin), ("ann", Role::Member)] {
        let new = NewAccount {
            name: name.to_owned(),
            role,
            sees: None,
            folders: Vec::new(),
            email: None,
            quota: Quota::default(),
        };
        desk.accounts().add(new).await.unwrap();
    }
    let talk = desk.begin(FINISH).await;
    let port = serve(&desk, &talk).await;
    let (key, text) = desk.accounts().create_key("root", "", None, None).await.unwrap();
    let (_, anns) = desk.accounts().create_key("ann", "", None, None).await.unwrap();
    let open = async |key: &str| {
        let request = desk.request(Method::POST, &talk.path(&format!("/ports/{port}")));
        let answer = request
            .header("X-Session-API-Key", key)
            .json(&json!({}))
            .send()
            .await
            .unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    assert_eq!(open(anns.expose()).await.0, 404, "it is not hers");
    let (_, answer) = open(text.expose()).await;
    let browser = Browser::open(answer["url"].as_str().unwrap()).await;
    assert_eq!(browser.status("/").await, 200);
    let mut socket = browser.socket(&browser.origin()).await.unwrap();
    desk.accounts().revoke(&key.id).await.unwrap();
    let ended = async {
        while !matches!(socket.next().await, None | Some(Err(_) | Ok(Message::Close(_)))) {}
        while browser.status("/").await != 401 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), ended)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_program_that_has_ended_is_told() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let port = serve(&desk, &talk).await;
    let browser = Browser::open(&opened(&desk, &talk, port).await).await;
    assert_eq!(browser.status("/").await, 200);
    let end = json!({"command": "kill $(cat pid); while kill -0 $(cat pid) 2>/dev/null; do sleep 0.05; done", "cwd": desk.work()});
    desk.post(&talk.path("/bash/execute_bash_command"), end).await;
    let answer = browser.get("/").send().await.unwrap();
    assert_eq!(answer.status(), 502);
    let told = answer.text().await.unwrap();
    assert!(
        told.contains(&format!("nothing listens on port {port}")),
        "{told}"
    );
}
