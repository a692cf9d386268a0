//! The web app, and the page that stands in for it where it was not built.

use reqwest::Method;

use crate::desk::Desk;

#[tokio::test]
async fn a_browser_gets_a_page_that_can_load_and_reach_nothing_else() {
    let desk = Desk::new().await;
    for path in ["/", "/c/3f6c1a52-0000-4000-8000-000000000000"] {
        let answer = desk
            .request(Method::GET, path)
            .header("Accept", "text/html,*/*")
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 200);
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "text/html; charset=utf-8");
        assert_eq!(header("cache-control"), "no-cache");
        assert_eq!(header("x-content-type-options"), "nosniff");
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        assert!(answer.text().await.unwrap().contains("<title>Deft</title>"));
    }
}

#[tokio::test]
async fn files_of_the_app_are_packed_and_kept_for_good() {
    let desk = Desk::new().await;
    let routes = deft_server::routes().into_iter();
    let assets: Vec<_> = routes
        .filter(|(_, path, _)| path.starts_with("/assets/"))
        .collect();
    let page = desk.request(Method::GET, "/").header("Accept", "text/html");
    let page = page.send().await.unwrap().text().await.unwrap();
    // A program without the app says how to add it; one that has it has all that its page names.
    assert_eq!(assets.is_empty(), page.contains("make web"), "{page}");
    assert_eq!(assets.is_empty(), !page.contains("/assets/"), "{page}");
    for (_, path, _) in assets {
        let ask = |encoding: &'static str| {
            desk.request(Method::GET, path)
                .header("Accept-Encoding", encoding)
                .send()
        };
        let (packed, plain) = (ask("br, gzip").await.unwrap(), ask("identity").await.unwrap());
        for answer in [&packed, &plain] {
            assert_eq!(
                answer.headers()["cache-control"],
                "public, max-age=31536000, immutable"
            );
            assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
        }
        if path.rsplit('.').next() == Some("woff2") {
            assert_eq!(plain.headers()["content-type"], "font/woff2"); // packed in itself
            continue;
        }
        assert_eq!(packed.headers()["content-encoding"], "gzip", "{path}");
        assert!(!plain.headers().contains_key("content-encoding"), "{path}");
    }
}
