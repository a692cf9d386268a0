//! The figures for Prometheus.

use crate::desk::{Desk, FINISH, KEY};

#[tokio::test]
async fn figures_are_told_to_who_has_the_key() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let request = desk.request(reqwest::Method::GET, "/metrics");
    assert_eq!(request.send().await.unwrap().status(), 401);
    let request = desk.request(reqwest::Method::GET, "/metrics").bearer_auth(KEY);
    let page = request.send().await.unwrap().text().await.unwrap();
    for part in [
        "deft_build_info{version=",
        "deft_conversations{status=\"finished\"} 1",
        "deft_conversations_in_memory 1",
        "deft_conversations_running 0",
        "deft_http_requests_total{method=\"POST\",status=\"2xx\"} 2",
        "process_resident_memory_bytes ",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}
