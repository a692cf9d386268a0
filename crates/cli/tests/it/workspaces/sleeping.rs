//! What an agent has left running, while nobody uses its conversation.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::killed::{Case, ask, wait_until, wait_until_finished};
use crate::commands::Home;

#[test]
fn what_an_agent_left_running_sleeps_while_its_conversation_is_idle_and_then_goes_on() {
    let home = Home::new();
    let files = home.work();
    let case = Case {
        home: &home,
        variables: &[("OH_CONVERSATION_IDLE_TTL_SECONDS", "1")],
        workspace: json!({"working_dir": files}),
        files: &files,
    };
    let served = case.serve(&["(while sleep 0.1; do echo x >> ticks; done) & echo begun"]);
    let path = format!("/api/conversations/{}", case.begin(&served));
    wait_until_finished(&served, &path);
    let ticks = || fs::read(files.join("ticks")).map_or(0, |ticks| ticks.len());
    let goes_on = || {
        let before = ticks();
        std::thread::sleep(Duration::from_millis(500));
        ticks() > before
    };
    wait_until("it ticks", || ticks() > 0);
    wait_until("it sleeps", || !goes_on());
    let used = ask(&served, &format!("{path}/resources")); // whoever looks wakes it
    assert!(used["resources"]["processes"].as_u64() > Some(1), "{used}");
    wait_until("it goes on", goes_on);
    assert_eq!(served.send("DELETE", &path, "k-of-the-test", &json!({})).0, 200);
    wait_until("it has ended", || !goes_on());
}
