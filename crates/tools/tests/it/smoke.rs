use super::bench::*;
#[tokio::test]
async fn smoke() {
    let bench = Bench::new();
    for c in [
        "echo hi",
        "false",
        "echo $?",
        "cd /tmp",
        "sleep 100 &",
        "nosuch",
        "if true; then",
        "set -x",
        "echo traced",
        "set +x",
        "exit 3",
        "echo again; pwd",
        "seq 1 20000 | tail -c 100000",
        "exec true",
        "sleep 0.3 & sleep 0.01",
        "sleep 0.4",
        "echo x",
    ] {
        let t = std::time::Instant::now();
        let seen = bench.sh(c).await;
        let s = format!("{seen:?}");
        eprintln!(
            "{c}: {:?}\n   {}...{}",
            t.elapsed(),
            &s.chars().take(300).collect::<String>(),
            &s.chars()
                .rev()
                .take(500)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect::<String>()
        );
    }
    let t = std::time::Instant::now();
    for _ in 0..1000 {
        bench.sh("echo hi").await;
    }
    eprintln!("1000: {:?}", t.elapsed());
    let t = std::time::Instant::now();
    bench.toolbox.close().await;
    eprintln!("close: {:?}", t.elapsed());
}
