//! Signing in with an account of a real provider of `OpenID` Connect, one that also misbehaves.

use deft_server::{NewAccount, Quota, Role};
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Method, Response};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::issuer::{CLIENT, Issuer, SECRET, Signing};

async fn desk(issuer: &Issuer, more: Value) -> Desk {
    let mut settings = json!({"issuer": issuer.url(), "client_id": CLIENT, "client_secret": SECRET});
    let fields = more.as_object().unwrap().clone();
    settings.as_object_mut().unwrap().extend(fields);
    let settings = deft_server::SignInSettings::deserialize(settings).unwrap();
    let desk = Desk::with(|config| config.sign_in = Some(settings)).await;
    add(&desk, "boss", Role::Admin, None).await;
    desk
}

async fn add(desk: &Desk, name: &str, role: Role, email: Option<&str>) {
    let new = NewAccount {
        name: name.to_owned(),
        role,
        email: email.map(str::to_owned),
        sees: None,
        folders: Vec::new(),
        quota: Quota::default(),
    };
    desk.accounts().add(new).await.unwrap();
}

/// The value of a cookie that an answer sets, and all that is said of it.
fn cookie(answer: &Response, name: &str) -> Option<(String, String)> {
    let all = answer.headers().get_all(SET_COOKIE).iter();
    let set = all
        .map(|set| set.to_str().unwrap().to_owned())
        .find(|set| set.starts_with(name))?;
    let (value, rest) = set.strip_prefix(name)?.strip_prefix('=')?.split_once(';')?;
    Some((value.to_owned(), rest.to_owned()))
}

fn location(answer: &Response) -> String {
    answer.headers()[LOCATION].to_str().unwrap().to_owned()
}

/// Goes to the provider and back, as a browser would.
async fn come_back(desk: &Desk) -> (String, String) {
    let begun = desk.request(Method::GET, "/api/auth/login").send().await.unwrap();
    assert_eq!(begun.status(), 303);
    let (ticket, attributes) = cookie(&begun, "deft_login").unwrap();
    assert!(
        attributes.contains("HttpOnly") && attributes.contains("SameSite=Lax"),
        "{attributes}"
    );
    let at_provider = desk.get_elsewhere(&location(&begun)).await;
    let back = location(&at_provider);
    let own = format!("http://{}", desk.address);
    (back.strip_prefix(&own).unwrap().to_owned(), ticket)
}

async fn finish(desk: &Desk, back: &str, ticket: &str) -> Response {
    let request = desk.request(Method::GET, back);
    request
        .header(COOKIE, format!("deft_login={ticket}"))
        .send()
        .await
        .unwrap()
}

/// The session of somebody who is let in.
async fn sign_in(desk: &Desk) -> String {
    let (back, ticket) = come_back(desk).await;
    let answer = finish(desk, &back, &ticket).await;
    assert_eq!(answer.status(), 303);
    assert_eq!(location(&answer), "/#key=cookie");
    let (session, attributes) = cookie(&answer, "deft_session").unwrap();
    assert!(
        attributes.contains("HttpOnly") && attributes.contains("SameSite=Strict"),
        "{attributes}"
    );
    assert!(!attributes.contains("Secure"), "this is not https: {attributes}");
    session
}

/// What somebody reads who is not let in.
async fn refusal(desk: &Desk) -> String {
    let (back, ticket) = come_back(desk).await;
    let answer = finish(desk, &back, &ticket).await;
    assert_eq!(answer.status(), 403);
    assert!(cookie(&answer, "deft_session").is_none());
    answer.text().await.unwrap()
}

async fn ask(desk: &Desk, method: Method, path: &str, headers: &[(&str, &str)]) -> u16 {
    let mut request = desk.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn somebody_new_signs_in_works_and_signs_out() {
    let issuer = Issuer::start().await;
    let desk = desk(&issuer, json!({"create_users": true, "default_role": "member"})).await;
    let methods = desk.get("/api/auth/methods").await;
    assert_eq!(methods["sign_in"], "/api/auth/login");
    issuer.say(json!({"preferred_username": "Ann", "email": "ann@example.org", "email_verified": true}));
    let session = format!("deft_session={}", sign_in(&desk).await);
    let ann = desk.accounts().user("ann").await.unwrap();
    assert_eq!(
        (ann.role, ann.email.as_deref()),
        (Role::Member, Some("ann@example.org"))
    );

    let count = "/api/conversations/count";
    let own = format!("http://{}", desk.address);
    let (here, meant) = (("Cookie", session.as_str()), ("X-Session-API-Key", "cookie"));
    assert_eq!(ask(&desk, Method::GET, count, &[here, meant]).await, 200);
    assert_eq!(
        ask(&desk, Method::GET, count, &[here, meant, ("Origin", &own)]).await,
        200
    );
    assert_eq!(
        ask(&desk, Method::GET, count, &[here]).await,
        401,
        "any page has it sent"
    );
    assert_eq!(ask(&desk, Method::GET, count, &[meant]).await, 401);
    let neighbour = ("Origin", "http://localhost:9999");
    assert_eq!(
        ask(&desk, Method::GET, count, &[here, meant, neighbour]).await,
        401,
        "another origin"
    );
    let socket = "/sockets/events/00000000-0000-0000-0000-000000000001";
    let mut opened = desk
        .connect(socket, &[("cookie", &session), ("origin", &own)])
        .await
        .unwrap();
    assert_eq!(
        opened.closed().await.0,
        4004,
        "it is open, and there is no such conversation"
    );
    let mut foreign = desk
        .connect(
            socket,
            &[("cookie", &session), ("origin", "http://localhost:9999")],
        )
        .await
        .unwrap();
    foreign
        .send(&json!({"type": "auth", "session_api_key": "cookie"}))
        .await;
    assert_eq!(foreign.closed().await.0, 4001);

    // The same person again: the same account, whatever they call themselves now.
    issuer.say(json!({"preferred_username": "boss"}));
    sign_in(&desk).await;
    assert_eq!(desk.accounts().users().await.unwrap().len(), 2);
    // Somebody else of the same name is somebody else.
    issuer.say(json!({"preferred_username": "ann", "sub": "subject-2"}));
    sign_in(&desk).await;
    assert!(desk.accounts().user("ann-2").await.is_ok());

    assert_eq!(
        ask(
            &desk,
            Method::POST,
            "/api/auth/logout",
            &[here, meant, ("Origin", &own)]
        )
        .await,
        204
    );
    assert_eq!(ask(&desk, Method::GET, count, &[here, meant]).await, 401);
    let audit = desk.audit().last_days(1).await.unwrap();
    let signed_in =
        |entry: &deft_server::AuditEntry| entry.what == "signed in" && entry.user.as_deref() == Some("ann");
    assert!(audit.iter().any(signed_in), "{audit:?}");
}

#[tokio::test]
async fn tokens_that_are_forged_old_or_for_others_open_nothing() {
    let issuer = Issuer::start().await;
    let desk = desk(&issuer, json!({"create_users": true, "default_role": "member"})).await;
    for (claims, reason) in [
        (json!({"nonce": "another"}), "another login"),
        (json!({"aud": "another"}), "for somebody else"),
        (json!({"iss": "https://id.example.org"}), "another provider"),
        (json!({"exp": 1_000_000}), "expired"),
        (json!({"sub": null}), "names nobody"),
    ] {
        issuer.say(claims);
        let said = refusal(&desk).await;
        assert!(said.contains(reason), "{said}");
    }
    issuer.say(json!({}));
    for signing in [Signing::None, Signing::Foreign, Signing::Confused] {
        issuer.sign(signing);
        let said = refusal(&desk).await;
        assert!(said.contains("no key of the provider"), "{signing:?}: {said}");
    }
    for signing in [Signing::Rsa, Signing::Ec] {
        if issuer.sign(signing) {
            sign_in(&desk).await;
        }
    }
}

#[tokio::test]
async fn a_login_is_finished_once_and_only_by_the_browser_that_began_it() {
    let issuer = Issuer::start().await;
    let desk = desk(&issuer, json!({"create_users": true, "default_role": "member"})).await;
    let (back, ticket) = come_back(&desk).await;
    let (others, _) = come_back(&desk).await;
    for (path, ticket) in [
        (back.as_str(), "wrong"),
        (back.as_str(), ""),
        (others.as_str(), ticket.as_str()),
    ] {
        let answer = finish(&desk, path, ticket).await;
        assert_eq!(answer.status(), 403, "{path} {ticket}");
    }
    let (back, ticket) = come_back(&desk).await;
    let elsewhere = back.replace(&issuer.url(), "https://id.example.org");
    assert_eq!(
        finish(&desk, &elsewhere, &ticket).await.status(),
        403,
        "another provider"
    );
    let (back, ticket) = come_back(&desk).await;
    assert_eq!(finish(&desk, &back, &ticket).await.status(), 303);
    assert_eq!(finish(&desk, &back, &ticket).await.status(), 403, "once");
    let denied = "/api/auth/callback?error=access_denied&state=x";
    assert_eq!(finish(&desk, denied, "wrong").await.status(), 403);
}

#[tokio::test]
async fn domains_and_groups_say_who_may_and_what() {
    let issuer = Issuer::start().await;
    let roles = json!({"allowed_domains": ["Example.org"], "create_users": true,
        "roles": {"staff": "member", "heads": "admin", "guests": "viewer"}});
    let desk = desk(&issuer, roles).await;
    let person = |email: &str, verified: bool, groups: Value| json!({"sub": "s-ann", "preferred_username": "ann", "email": email, "email_verified": verified, "groups": groups});
    for (who, reason) in [
        (person("ann@example.org", false, json!(["staff"])), "domain"),
        (person("ann@example.org.evil", true, json!(["staff"])), "domain"),
        (
            person("ann@example.org", true, json!(["others"])),
            "none of the groups",
        ),
        (person("ann@example.org", true, json!(null)), "none of the groups"),
    ] {
        issuer.say(who);
        let said = refusal(&desk).await;
        assert!(said.contains(reason), "{said}");
    }
    assert_eq!(
        desk.accounts().users().await.unwrap().len(),
        1,
        "nobody was added"
    );
    for (groups, role) in [
        (json!(["guests", "staff"]), Role::Member),
        (json!(["staff", "heads"]), Role::Admin),
        (json!("guests"), Role::Viewer),
    ] {
        issuer.say(person("ann@example.org", true, groups));
        sign_in(&desk).await;
        assert_eq!(desk.accounts().user("ann").await.unwrap().role, role);
    }
    desk.accounts()
        .change("ann", |ann| ann.disabled = true)
        .await
        .unwrap();
    let said = refusal(&desk).await;
    assert!(said.contains("switched off"), "{said}");
}

#[tokio::test]
async fn where_nobody_is_added_only_known_addresses_get_in() {
    let issuer = Issuer::start().await;
    let desk = desk(&issuer, json!({})).await;
    add(&desk, "ann", Role::Member, Some("ann@example.org")).await;
    issuer.say(json!({"preferred_username": "ann", "email": "ann@example.org", "email_verified": false}));
    assert!(
        refusal(&desk).await.contains("nobody has added you"),
        "anybody can say so"
    );
    issuer.say(json!({"email": "Ann@example.org", "email_verified": true}));
    sign_in(&desk).await;
    // From now on they are known by what never changes.
    issuer.say(json!({"email": "ann@elsewhere.org", "email_verified": true}));
    sign_in(&desk).await;
    issuer.say(json!({"sub": "subject-2", "email": "eve@example.org", "email_verified": true}));
    assert!(refusal(&desk).await.contains("nobody has added you"));
}

#[tokio::test]
async fn a_provider_that_is_not_the_one_or_not_there_lets_nobody_in() {
    let issuer = Issuer::start().await;
    issuer.call_itself("https://id.example.org");
    let desk = desk(&issuer, json!({})).await;
    let answer = desk.request(Method::GET, "/api/auth/login").send().await.unwrap();
    assert_eq!(answer.status(), 403);
    let said = answer.text().await.unwrap();
    assert!(said.contains("calls itself"), "{said}");
    let without = Desk::new().await;
    assert_eq!(without.get("/api/auth/methods").await["sign_in"], Value::Null);
    for path in ["/api/auth/login", "/api/auth/callback"] {
        let answer = without.request(Method::GET, path).send().await.unwrap();
        assert_eq!(answer.status(), 404);
    }
}
