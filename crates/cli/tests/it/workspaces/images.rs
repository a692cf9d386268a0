//! Images that are built for a workspace: once for each configuration, and only from where it changed.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use deft_docker::{Docker, Files, ImageNews, Layers, Plugin, Prune, Service};

use super::conformance::{container, somebodys_directory};
use super::dockerd::{Dockerd, IMAGE};
use super::{open, output};
use crate::commands::{Home, lines, stderr, stdout};

/// Builds, and tells the image's name and how many levels were built.
async fn build(docker: &Docker, base: &str, layers: &Layers) -> Result<(String, usize), String> {
    let log = Mutex::new(Vec::new());
    let told = |news| match news {
        ImageNews::Build(line) => log.lock().unwrap().push(line),
        ImageNews::Pull(progress) => panic!("the base is here: {progress:?}"),
    };
    let image = docker
        .build(base, layers, None, told)
        .await
        .map_err(|error| error.to_string())?;
    let log = log.into_inner().unwrap();
    let built = log
        .iter()
        .filter(|line| line.starts_with("Successfully tagged"))
        .count();
    Ok((image, built))
}

fn plugin(name: &str, install: &str) -> Plugin {
    Plugin {
        name: name.to_owned(),
        install: vec![install.to_owned()],
        ..Plugin::default()
    }
}

/// As a distribution has one: it writes down what it is to install.
fn image_with_packages(directory: &Path) -> Layers {
    let script = directory.join("manager.sh");
    let manager = "#!/bin/sh\necho \"$@\" >> /installed\n";
    fs::write(
        &script,
        format!("cat > /bin/apt-get <<'END'\n{manager}END\nchmod 755 /bin/apt-get\n"),
    )
    .unwrap();
    Layers {
        setup: Some(script),
        ..Layers::default()
    }
}

pub(super) async fn images_are_built_once_and_pruned(engine: &Dockerd) {
    let docker = Docker::at(engine.socket());
    let everything = Prune::default();
    let now = || SystemTime::now() + Duration::from_secs(60);
    docker.prune_images(everything, now()).await.unwrap(); // what a run that was killed left behind
    let place = tempfile::tempdir().unwrap();
    let (base, built) = build(&docker, IMAGE, &image_with_packages(place.path()))
        .await
        .unwrap();
    assert_eq!(built, 1);
    let path = format!("/images/{base}/tag?repo=localhost/deft-test-packages&tag=1");
    assert_eq!(engine.api("POST", &path, b"").unwrap().0, 201);
    let base = "localhost/deft-test-packages:1"; // as another's, which no pruning of ours touches

    let setup = place.path().join("setup.sh");
    fs::write(&setup, "echo one > /set-up\n").unwrap();
    let mut tool = plugin(
        "tool",
        "printf '#!/bin/sh\\necho tool works\\n' > /bin/tool; chmod 755 /bin/tool",
    );
    tool.packages.apt = vec!["libtool".to_owned()];
    tool.packages.apk = vec!["not-here".to_owned()];
    tool.tools = vec!["tool".to_owned()];
    tool.check = Some("tool".to_owned());
    let mut layers = Layers {
        packages: vec!["git".to_owned(), "curl".to_owned()],
        plugins: vec![tool],
        setup: Some(setup.clone()),
    };
    let (first, built) = build(&docker, base, &layers).await.unwrap();
    assert_eq!(built, 3, "packages, plugins and setup");
    assert_eq!(
        build(&docker, base, &layers).await.unwrap(),
        (first.clone(), 0),
        "the same is not built again"
    );

    // What is in it works in a container.
    let files = somebodys_directory();
    let mut workspace = container(engine, Files::Directory(files.path().to_owned()));
    base.clone_into(&mut workspace.image);
    workspace.layers = layers.clone();
    let client = open(&workspace).await;
    assert_eq!(
        output(&client, "1", "cat /installed /set-up; tool").await,
        "update\ninstall -y --no-install-recommends git curl\nupdate\ninstall -y --no-install-recommends libtool\n\
         one\ntool works"
    );
    drop(client);
    assert!(
        docker
            .prune_images(everything, now())
            .await
            .unwrap()
            .iter()
            .all(|image| image.name != first),
        "it is used"
    );
    workspace.remove().await.unwrap();

    // A change is built from its level up, and nothing that counts is left out of the name.
    docker.prune_images(everything, now()).await.unwrap();
    let again = build(&docker, base, &layers).await.unwrap();
    assert_eq!(
        again,
        (first.clone(), 3),
        "the same configuration has the same name"
    );
    let mut names = vec![first];
    let mut changed = async |layers: &Layers, levels: usize| {
        let (name, built) = build(&docker, base, layers).await.unwrap();
        assert_eq!(built, levels, "{name}");
        assert!(!names.contains(&name), "{name} stands for something else");
        names.push(name);
    };
    fs::write(&setup, "echo two > /set-up\n").unwrap();
    changed(&layers, 1).await;
    layers.plugins[0].check = Some("tool > /dev/null".to_owned());
    changed(&layers, 2).await;
    layers.packages.swap(0, 1);
    changed(&layers, 3).await;
    layers.setup = None;
    changed(&layers, 0).await;

    failures_are_told_with_their_log(&docker, base, place.path()).await;
    the_command_line_builds_lists_and_prunes(engine, &docker).await;
    assert_eq!(
        engine.api("DELETE", &format!("/images/{base}"), b"").unwrap().0,
        200
    );
    docker.prune_images(everything, now()).await.unwrap();
    assert_eq!(docker.built_images().await.unwrap(), []);
}

async fn failures_are_told_with_their_log(docker: &Docker, base: &str, place: &Path) {
    let failing = async |base: &str, layers: Layers| build(docker, base, &layers).await.unwrap_err();
    let packages = vec!["git".to_owned()];
    let no_manager = failing(
        IMAGE,
        Layers {
            packages,
            ..Layers::default()
        },
    )
    .await;
    assert!(
        no_manager.contains("image with packages git") && no_manager.contains("apt-get, apk, dnf"),
        "{no_manager}"
    );
    let mut sick = plugin("sick", "echo installed");
    sick.tools = vec!["no-such-tool".to_owned()];
    let sick = Layers {
        plugins: vec![sick],
        ..Layers::default()
    };
    let told = failing(base, sick).await;
    assert!(told.contains("there is no no-such-tool"), "{told}");
    let mut unfit = plugin("unfit", "true");
    unfit.check = Some("echo 'it does not fit' >&2; false".to_owned());
    let unfit = Layers {
        plugins: vec![unfit],
        ..Layers::default()
    };
    let told = failing(base, unfit).await;
    assert!(
        told.contains("plugins unfit") && told.contains("it does not fit"),
        "{told}"
    );
    let mut silent = plugin("silent", "true");
    silent.serves = Some(Service {
        port: 8080,
        command: "echo cannot begin >&2".to_owned(),
    });
    let silent = Layers {
        plugins: vec![silent],
        ..Layers::default()
    };
    let told = failing(base, silent).await;
    assert!(
        told.contains("cannot begin") && told.contains("serve-silent does not listen on port 8080"),
        "{told}"
    );
    let script = place.join("failing.sh");
    fs::write(&script, "echo first words\nfalse\ntouch /never\n").unwrap();
    let setup = Layers {
        setup: Some(script),
        ..Layers::default()
    };
    let told = failing(base, setup).await;
    assert!(
        told.contains("setup script") && told.contains("first words"),
        "{told}"
    );
}

async fn the_command_line_builds_lists_and_prunes(engine: &Dockerd, docker: &Docker) {
    let home = Home::new();
    let plugins = home.root.path().join(".deft/plugins");
    fs::create_dir_all(&plugins).unwrap();
    fs::write(
        plugins.join("greeting.json"),
        r#"{"name": "greeting", "install": ["echo hello > /greeting"], "check": "cat /greeting"}"#,
    )
    .unwrap();
    fs::write(home.work().join("prepare.sh"), "cat /greeting > /prepared\n").unwrap();
    let command = "cat /prepared > prepared";
    let model = home.script(&format!(
        "[{{tool_calls: [{{name: terminal, arguments: {{command: '{command}'}}}}]}}, {{text: Done.}}]"
    ));
    let address = format!("unix://{}", engine.socket().display());
    let deft = |args: &[&str]| {
        let output = home.deft(args).env("DOCKER_HOST", &address).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}{}",
            stdout(&output),
            stderr(&output)
        );
        output
    };
    let name = format!("docker:{IMAGE}?plugins=greeting&setup=prepare.sh");
    let output = deft(&["run", "-t", "do it", "--json", "--model", &model, "-w", &name]);
    assert_eq!(
        fs::read_to_string(home.work().join("prepared")).unwrap(),
        "hello\n"
    );
    assert!(
        stderr(&output).contains("workspace: hello"),
        "{}",
        stderr(&output)
    );

    let listed = lines(&deft(&["images", "list", "--json"]));
    let content = format!("{IMAGE} + plugins greeting + setup script");
    assert!(
        listed.iter().any(|image| image["content"] == content.as_str()),
        "{listed:?}"
    );
    assert_eq!(
        stdout(&deft(&["images", "prune", "--older-than", "1"])),
        "",
        "they are of today"
    );
    let data_dir = home.root.path().join(".deft").display().to_string();
    let later = SystemTime::now() + Duration::from_secs(60);
    docker
        .collect_orphans(&data_dir, |_| false, Duration::ZERO, later)
        .await
        .unwrap();
    let pruned = stdout(&deft(&["images", "prune"]));
    assert!(pruned.contains(&content), "{pruned}");
}
