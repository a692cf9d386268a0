//! What an agent does with pages that mean no harm.

use std::path::PathBuf;

use deft_browse::BrowserOptions;
use serde_json::{Value, json};

use super::hand::{Hand, page_json, processes};
use super::site::{Page, Site, html};

#[tokio::test]
async fn a_form_is_filled_and_sent() {
    let Some(hand) = Hand::new() else { return };
    let site = Site::new(|path| match path {
        "/" => html(
            "<title>Order</title><form action=/done method=post>
             <input name=who placeholder=Name value=old><input name=day type=date title=Day>
             <input name=pin type=password placeholder=Pin>
             <select name=size title=Size><option>small<option>large</select>
             <input type=checkbox name=gift title=Gift><textarea name=words placeholder=Words></textarea>
             <button>Send</button></form>",
        ),
        _ => html("<title>Thanks</title><h1>It is on its way</h1>"),
    })
    .await;
    let said = hand.open(&site.url("/")).await;
    assert!(
        said.starts_with(&format!("Navigated to: {}", site.url("/"))),
        "{said}"
    );
    assert!(said.contains("title: Order"), "{said}");
    hand.type_into("Name", "Ada Lovelace").await;
    hand.type_into("Day", "2026-12-24").await;
    let said = hand.type_into("Pin", "hush-hush").await;
    assert!(said.contains("<credential>") && !said.contains("hush"), "{said}");
    hand.type_into("small", "large").await;
    hand.click("Gift").await;
    hand.type_into("Words", "two\nlines").await;
    assert!(!hand.state().await.to_string().contains("hush"));
    let said = hand.click("Send").await;
    assert!(said.contains("title: Thanks"), "{said}");
    assert!(hand.content().await.contains("# It is on its way"));
    let sent = site
        .requests()
        .into_iter()
        .find(|request| request.starts_with("POST"))
        .unwrap();
    for part in [
        "who=Ada+Lovelace",
        "day=2026-12-24",
        "pin=hush-hush",
        "size=large",
        "gift=on",
        "words=two%0D%0Alines",
    ] {
        assert!(sent.contains(part), "{part} in {sent}");
    }
    let said = hand.call("browser_go_back", json!({})).await;
    assert!(said.contains("title: Order"), "{said}");
    hand.close().await;
}

#[tokio::test]
async fn enter_sends_and_scripts_hear_what_is_typed() {
    let Some(hand) = Hand::new() else { return };
    let site = Site::new(|path| match path {
        "/" => html(
            "<form action=/found><input name=q placeholder=Search oninput='document.title=this.value'></form>
             <div contenteditable=true id=e>old</div><div style='cursor:pointer' onclick=\"e.textContent+='!'\">Shout</div>",
        ),
        path => html(&format!("<title>{path}</title>")),
    })
    .await;
    hand.open(&site.url("/")).await;
    hand.type_into("Search", "deft").await;
    assert!(hand.state().await["title"] == "deft");
    hand.type_into("old", "new words").await;
    hand.click("Shout").await;
    assert!(hand.content().await.contains("new words!"));
    let said = hand.type_into("deft", "tools\n").await;
    assert!(said.contains("title: /found?q=tools"), "{said}");
    hand.close().await;
}

#[tokio::test]
async fn links_tabs_and_history_are_followed() {
    let Some(hand) = Hand::new() else { return };
    let site = Site::new(|path| match path {
        "/" => html("<title>Home</title><a href=/one>One</a> <a href=/two target=_blank>Two</a> <a href=/three>Three</a>"),
        path => html(&format!("<title>{path}</title><p>Here is {path}</p>")),
    })
    .await;
    hand.open(&site.url("/")).await;
    assert!(hand.click("One").await.contains("title: /one"));
    hand.call("browser_go_back", json!({})).await;
    let said = hand.click("Two").await;
    assert!(said.contains("The page opened a new tab"), "{said}");
    let index = hand.find("Three").await;
    let said = hand
        .call("browser_click", json!({"index": index, "new_tab": true}))
        .await;
    assert!(
        said.contains("opened in new tab") && said.contains("title: /three"),
        "{said}"
    );
    let tabs = page_json(&hand.call("browser_list_tabs", json!({})).await);
    let titles: Vec<_> = tabs
        .as_array()
        .unwrap()
        .iter()
        .map(|tab| tab["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["Home", "/two", "/three"], "{tabs}");
    let two = tabs[1]["tab_id"].as_str().unwrap();
    assert_eq!(two.len(), 4);
    let said = hand.call("browser_switch_tab", json!({"tab_id": two})).await;
    assert!(said.contains("title: /two"), "{said}");
    assert!(hand.content().await.contains("Here is /two"));
    let seen = hand
        .observe("browser_get_state", json!({"include_screenshot": true}))
        .await;
    assert!(seen.screenshot_data.unwrap().starts_with("/9j/"), "a JPEG");
    let said = hand.call("browser_close_tab", json!({"tab_id": two})).await;
    assert!(said.contains(&format!("Closed tab # {two}")), "{said}");
    assert!(
        hand.fail("browser_switch_tab", json!({"tab_id": two}))
            .await
            .contains("browser_list_tabs")
    );
    let said = hand
        .call(
            "browser_navigate",
            json!({"url": site.url("/four"), "new_tab": true}),
        )
        .await;
    assert!(
        said.contains("Opened new tab") && said.contains("title: /four"),
        "{said}"
    );
    assert!(
        hand.fail("browser_go_back", json!({}))
            .await
            .contains("no page to go back to")
    );
    hand.close().await;
}

#[tokio::test]
async fn elements_are_found_in_shadow_roots_and_frames_and_long_pages_are_scrolled() {
    let Some(hand) = Hand::new() else { return };
    let site = Site::new(|path| match path {
        "/" => html(
            "<div id=host></div><iframe src=/inner style='margin:30px'></iframe><div style=height:3000px></div>
             <button onclick=\"document.title='far'\">Far</button><p style=display:none>invisible</p>
             <script>host.attachShadow({mode:'open'}).innerHTML='<button onclick=\"document.title=1\">Shade</button>'</script>",
        ),
        _ => html("<button onclick=\"parent.document.title='framed'\">Frame</button>"),
    })
    .await;
    hand.open(&site.url("/")).await;
    for (button, title) in [("Shade", "1"), ("Frame", "framed"), ("Far", "far")] {
        hand.click(button).await;
        assert_eq!(hand.state().await["title"], title);
    }
    let content = hand.content().await;
    assert!(
        content.contains("Shade") && content.contains("Frame") && !content.contains("invisible"),
        "{content}"
    );
    hand.call("browser_scroll", json!({"direction": "up"})).await;
    let before = hand.state().await["scroll"]["y"].as_i64().unwrap();
    let said = hand.call("browser_scroll", json!({"direction": "up"})).await;
    assert!(said.starts_with("Scrolled up"), "{said}");
    assert_eq!(hand.state().await["scroll"]["y"].as_i64().unwrap(), before - 500);
    hand.close().await;
}

#[tokio::test]
async fn cookies_and_storage_are_read_and_set() {
    let Some(hand) = Hand::new() else { return };
    let site = Site::new(|_| {
        html("<script>document.title = localStorage.mine ?? 'none'; document.cookie = 'seen=yes'</script>")
    })
    .await;
    let origin = site.url("");
    let state = json!({
        "cookies": [{"name": "token", "value": "t1", "domain": "127.0.0.1", "path": "/", "httpOnly": true}],
        "origins": [{"origin": origin, "localStorage": [{"name": "mine", "value": "kept"}]}],
    });
    let said = hand
        .call("browser_set_storage", json!({"storage_state": state}))
        .await;
    assert!(said.contains("Storage set successfully"), "{said}");
    assert!(site.requests().is_empty(), "no server was asked");
    assert!(hand.open(&site.url("/")).await.contains("title: kept"));
    let read = page_json(&hand.call("browser_get_storage", json!({})).await);
    assert_eq!(read["origins"][0], state["origins"][0], "{read}");
    let mut names: Vec<_> = read["cookies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cookie| cookie["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["seen", "token"]);
    let bad = hand
        .fail("browser_set_storage", json!({"storage_state": {"cookies": "x"}}))
        .await;
    assert!(bad.contains("not as browser_get_storage shows it"), "{bad}");
    hand.close().await;
}

#[tokio::test]
async fn downloads_come_into_the_workspace_under_clean_names() {
    let Some(hand) = Hand::new() else { return };
    let site = Site::new(|path| match path {
        "/" => html("<title>Files</title><a href=/file>Get</a>"),
        _ => Page::File("../.hidden report.txt", b"contents".to_vec()),
    })
    .await;
    hand.open(&site.url("/")).await;
    let said = hand.click("Get").await;
    assert!(said.contains("(8 bytes)"), "{said}");
    let said = hand.open(&site.url("/file")).await;
    assert!(said.contains("(8 bytes)"), "{said}");
    let folder = hand.directory.path().join("work/downloads");
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["_.hidden_report-1.txt", "_.hidden_report.txt"]);
    hand.close().await;
}

#[tokio::test]
async fn a_recording_has_a_line_and_a_picture_for_each_call() {
    let Some(hand) = Hand::new() else { return };
    let site = Site::new(|_| html("<title>T</title><input placeholder=Field>")).await;
    assert!(
        hand.call("browser_start_recording", json!({}))
            .await
            .contains("Recording started")
    );
    assert!(
        hand.fail("browser_start_recording", json!({}))
            .await
            .contains("already")
    );
    hand.open(&site.url("/")).await;
    hand.type_into("Field", "a secret").await;
    let said = hand.call("browser_stop_recording", json!({})).await;
    let directory = said.lines().next().unwrap().rsplit("Saved to: ").next().unwrap();
    let lines = std::fs::read_to_string(PathBuf::from(directory).join("events.jsonl")).unwrap();
    let events: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event["action"]["kind"].as_str().unwrap())
        .collect();
    assert!(
        kinds.ends_with(&[
            "BrowserNavigateAction",
            "BrowserGetStateAction",
            "BrowserTypeAction"
        ]),
        "{kinds:?}"
    );
    let typed = events.last().unwrap();
    assert_eq!(typed["action"]["text"], "<left out>");
    let picture =
        std::fs::read(PathBuf::from(directory).join(typed["screenshot"].as_str().unwrap())).unwrap();
    assert_eq!(&picture[..3], b"\xff\xd8\xff");
    assert!(
        hand.fail("browser_stop_recording", json!({}))
            .await
            .contains("No recording")
    );
    hand.close().await;
}

#[tokio::test]
async fn nothing_is_left_of_a_closed_browser() {
    let Some(hand) = Hand::new() else { return };
    let site = Site::new(|_| html("<title>T</title>")).await;
    hand.open(&site.url("/")).await;
    assert!(!processes(&hand.directory).is_empty());
    let directory = hand.close().await;
    assert_eq!(processes(&directory), Vec::<String>::new());
    assert!(!directory.path().join("private/browser").exists());
}

#[tokio::test]
async fn without_chromium_it_is_said_how_to_get_it() {
    let hand = Hand::anyway(BrowserOptions {
        program: Some("/nowhere/chromium".into()),
        ..BrowserOptions::default()
    });
    let said = hand.fail("browser_get_state", json!({})).await;
    assert!(said.contains("apt-get install chromium"), "{said}");
}
