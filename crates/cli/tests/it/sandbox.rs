//! Attacks on the sandbox from inside, in each tier that it has. Each command says `LEAKED` or `ESCAPED` if it gets
//! what it wants; each test also has something that must work, so that a dead shell passes none.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use deft_executor::{Client, Outcome, Update};
use deft_types::{Action, EditorCommand, FileEditorAction, Observation, TerminalAction};
use deft_workspace::sandbox::{Gap, Machine, Plan, Tier, Unavailable};
use deft_workspace::{Access, LocalWorkspace, Network, Policy, Terms, Workspace, WorkspaceError};
use tempfile::TempDir;

use crate::commands::{Home, wait_for};
use crate::workspaces::skip;

/// A home with secrets in it, and a workspace beside them.
pub(crate) struct Place {
    home: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        // Not below /tmp, all of which a sandbox with namespaces hides anyway.
        let home = tempfile::Builder::new()
            .prefix("sandbox-test")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .unwrap();
        for directory in [
            ".ssh",
            ".aws",
            ".mozilla/firefox",
            "state/executors",
            "work/.git/hooks",
            "other",
        ] {
            fs::create_dir_all(home.path().join(directory)).unwrap();
        }
        for secret in [
            ".ssh/id",
            ".aws/credentials",
            ".mozilla/firefox/logins.json",
            ".netrc",
            "state/deft.db",
        ] {
            fs::write(home.path().join(secret), "LEAKED").unwrap();
        }
        fs::write(home.path().join("work/.git/config"), "[core]\n").unwrap();
        fs::write(home.path().join("work/deft.toml"), "").unwrap();
        fs::write(home.path().join("readme"), "readable").unwrap();
        symlink(home.path().join(".ssh"), home.path().join("innocent")).unwrap();
        symlink(home.path().join(".ssh/id"), home.path().join("work/link")).unwrap();
        Self { home }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn policy(&self, network: Network) -> Policy {
        Policy {
            network,
            ..Policy::for_user(Some(&self.path("")), &self.path("state"))
        }
    }

    pub(crate) fn workspace(&self, plan: Option<Plan>) -> LocalWorkspace {
        LocalWorkspace {
            program: env!("CARGO_BIN_EXE_deft").into(),
            root: self.path("work"),
            directory: self.path("state/executors/1"),
            terms: Terms {
                linger: Duration::from_secs(60),
                ..Terms::default()
            },
            sandbox: plan,
        }
    }

    /// Without a sandbox.
    pub(crate) async fn open_wide(&self, web_addresses: Option<&'static str>) -> Inside {
        let workspace = LocalWorkspace {
            terms: Terms {
                web_addresses,
                ..Terms::default()
            },
            ..self.workspace(None)
        };
        let stream = workspace.open().await.unwrap();
        Inside(Client::connect(stream).await.unwrap())
    }

    pub(crate) async fn open(&self, tier: Tier, network: Network) -> Inside {
        self.open_with(tier, self.policy(network)).await.unwrap()
    }

    /// For an agent that only plans.
    pub(crate) async fn open_to_plan(&self, tier: Tier) -> Inside {
        self.try_to_plan(tier).await.unwrap()
    }

    pub(crate) async fn try_to_plan(&self, tier: Tier) -> Result<Inside, WorkspaceError> {
        let policy = Policy {
            workspace: Access::Plan,
            ..self.policy(Network::Off)
        };
        self.open_with(tier, policy).await
    }

    async fn open_with(&self, tier: Tier, policy: Policy) -> Result<Inside, WorkspaceError> {
        let plan = Plan::new(policy, &machine(tier), &self.path("work")).unwrap();
        assert_eq!(plan.tier, tier);
        let stream = self.workspace(Some(plan)).open().await?;
        Ok(Inside(Client::connect(stream).await.unwrap()))
    }
}

/// This machine, or one like it without bubblewrap.
pub(crate) fn machine(tier: Tier) -> Machine {
    let machine = Machine::probe();
    match tier {
        Tier::Namespaces => machine,
        Tier::Landlock => Machine {
            bubblewrap: Err(Unavailable::NotInstalled),
            engine_sockets: Vec::new(),
            ..machine
        },
    }
}

/// The tiers that can be tried here. Where one is missing that is said, and in CI none may be.
#[allow(clippy::print_stdout)] // what a test says is kept with its result
pub(crate) fn tiers() -> Vec<Tier> {
    let probed = Machine::probe();
    let policy = Policy::for_user(None, Path::new("/state"));
    let alone = Plan::new(policy, &machine(Tier::Landlock), Path::new("/workspace"));
    let mut tiers = Vec::new();
    for (tier, why_not) in [
        (Tier::Landlock, alone.err().map(|error| error.to_string())),
        (
            Tier::Namespaces,
            probed.bubblewrap.err().map(|error| error.to_string()),
        ),
    ] {
        match why_not {
            None => tiers.push(tier),
            Some(reason) => {
                assert!(std::env::var_os("DEFT_NO_SKIPS").is_none(), "{reason}");
                println!("skipped with {tier:?}: {reason}");
            }
        }
    }
    tiers
}

pub(crate) struct Inside(pub(crate) Client);

impl Inside {
    pub(crate) async fn run(&self, command: &str) -> String {
        let action = TerminalAction {
            command: command.to_owned(),
            ..TerminalAction::default()
        };
        let id = uuid::Uuid::new_v4().to_string();
        let end = self
            .0
            .call(id.as_str().into(), "terminal".to_owned(), action.into())
            .await
            .end()
            .await;
        match end {
            Update::Ended(Outcome::Observed { observation }) => match *observation {
                Observation::Terminal(terminal) => format!("{:?}", terminal.content),
                other => panic!("{other:?}"),
            },
            other => panic!("{command}: {other:?}"),
        }
    }

    /// Runs a command that must be refused.
    #[track_caller]
    pub(crate) fn refuses(&self, command: &str) -> impl Future<Output = ()> {
        let command = command.to_owned();
        async move {
            let output = self.run(&format!("{command}; echo a\"\"live")).await;
            assert!(output.contains("alive"), "{command}: {output}");
            assert!(
                !output.contains("LEAKED") && !output.contains("ESCAPED"),
                "{command}: {output}"
            );
        }
    }

    pub(crate) async fn edit(&self, action: FileEditorAction) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        let end = self
            .0
            .call(id.as_str().into(), "file_editor".to_owned(), action.into())
            .await
            .end()
            .await;
        format!("{end:?}")
    }

    /// Calls a tool that looks at the web.
    pub(crate) async fn web(&self, tool: &str, action: &str, fields: serde_json::Value) -> String {
        let fields = fields.as_object().cloned().unwrap_or_default();
        let action = Action::from_fields(action, fields);
        let id = uuid::Uuid::new_v4().to_string();
        let call = self.0.call(id.as_str().into(), tool.to_owned(), action).await;
        format!("{:?}", call.end().await)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0
    }

    pub(crate) async fn close(self) {
        self.0.shutdown().await;
    }
}

#[tokio::test]
async fn x1_a_workspace_that_is_the_home_has_its_secrets_hidden_too() {
    if !tiers().contains(&Tier::Namespaces) {
        return; // the other tier refuses such a workspace
    }
    let place = Place::new();
    let home = place.path("");
    for secret in [".deft/vault-key", ".claude/credentials", ".config/gh/hosts.yml"] {
        fs::create_dir_all(home.join(secret).parent().unwrap()).unwrap();
        fs::write(home.join(secret), "LEAKED").unwrap();
    }
    let policy = Policy::for_user(Some(&home), &home.join(".deft"));
    let plan = Plan::new(policy, &machine(Tier::Namespaces), &home).unwrap();
    let workspace = LocalWorkspace {
        root: home,
        ..place.workspace(Some(plan))
    };
    let inside = Inside(Client::connect(workspace.open().await.unwrap()).await.unwrap());
    assert!(inside.run("cat readme").await.contains("readable"));
    inside
        .refuses("cat .deft/vault-key .claude/credentials .ssh/id .config/gh/hosts.yml")
        .await;
    // The next sandbox would not know it by another name.
    inside
        .refuses("mv .config moved 2>/dev/null && echo ESCAPED")
        .await;
    inside.close().await;
}

#[tokio::test]
async fn x1_secrets_cannot_be_read_and_nothing_outside_can_be_written() {
    for tier in tiers() {
        let place = Place::new();
        let inside = place.open(tier, Network::Off).await;
        let home = place.path("").display().to_string();
        let home = home.trim_end_matches('/');
        assert!(
            inside
                .run(&format!("cat {home}/readme"))
                .await
                .contains("readable"),
            "{tier:?}"
        );
        for secret in [
            ".ssh/id",
            ".aws/credentials",
            ".mozilla/firefox/logins.json",
            ".netrc",
            "state/deft.db",
            "innocent/id",
            "work/link",
            "work/../.ssh/id",
        ] {
            inside.refuses(&format!("cat {home}/{secret}")).await;
            inside
                .refuses(&format!("cat /proc/self/root{home}/{secret}"))
                .await;
        }
        inside.refuses("cat link").await;
        inside
            .refuses(&format!("ln {home}/.ssh/id hard && cat hard"))
            .await;
        inside
            .refuses(&format!("cp -r {home}/.ssh copy && cat copy/id"))
            .await;
        for outside in [
            format!("{home}/new"),
            format!("{home}/readme"),
            "/etc/deft-was-here".to_owned(),
        ] {
            inside
                .refuses(&format!("echo x >> {outside} && echo ESCAPED"))
                .await;
            inside
                .refuses(&format!("truncate -s 0 {outside} && echo ESCAPED"))
                .await;
            inside.refuses(&format!("rm {outside} && echo ESCAPED")).await;
        }
        inside
            .refuses(&format!("mv {home}/other mine && echo ESCAPED"))
            .await;
        inside
            .refuses("ls /etc/shadow && head -c 4 /etc/shadow | grep -q . && echo LEAKED")
            .await;
        let written = inside
            .run("echo kept > made && echo t > \"$TMPDIR/t\" && cat made \"$TMPDIR/t\"")
            .await;
        assert!(written.contains("kept"), "{tier:?}: {written}");
        inside.close().await;
        assert_eq!(fs::read_to_string(place.path("readme")).unwrap(), "readable");
        assert_eq!(fs::read_to_string(place.path("work/made")).unwrap(), "kept\n");
        assert!(!place.path("new").exists() && !Path::new("/etc/deft-was-here").exists());
    }
}

#[tokio::test]
async fn x2_f2_file_tools_are_held_by_the_same_rules_as_commands() {
    for tier in tiers() {
        let place = Place::new();
        let inside = place.open(tier, Network::Off).await;
        for path in [".ssh/id", "work/link", "state/deft.db"] {
            let view = FileEditorAction {
                command: EditorCommand::View,
                path: place.path(path).display().to_string(),
                ..FileEditorAction::default()
            };
            let seen = inside.edit(view).await;
            assert!(!seen.contains("LEAKED"), "{tier:?}: {seen}");
        }
        for path in ["new", "readme", "work/deft.toml"] {
            let write = FileEditorAction {
                command: EditorCommand::Create,
                path: place.path(path).display().to_string(),
                file_text: Some("ESCAPED".to_owned()),
                ..FileEditorAction::default()
            };
            inside.edit(write).await;
            if tier == Tier::Namespaces || !path.starts_with("work") {
                let text = fs::read_to_string(place.path(path)).unwrap_or_default();
                assert!(!text.contains("ESCAPED"), "{tier:?}: {path}");
            }
        }
        inside.close().await;
    }
}

#[tokio::test]
async fn x4_s2_processes_outside_can_be_neither_seen_into_nor_stopped() {
    let mut victim = Command::new("sleep")
        .arg("600")
        .env("A_KEY", "LEAKED")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    for tier in tiers() {
        let place = Place::new();
        let inside = place.open(tier, Network::Off).await;
        let pid = victim.id();
        inside
            .refuses(&format!("cat /proc/{pid}/environ | tr '\\0' '\\n'"))
            .await;
        inside.refuses("cat /proc/*/environ | tr '\\0' '\\n'").await;
        inside
            .refuses(&format!("head -c 10 /proc/{pid}/mem && echo LEAKED"))
            .await;
        inside
            .refuses(&format!("ls /proc/{pid}/root/ && echo ESCAPED"))
            .await;
        inside.refuses(&format!("kill -9 {pid} && echo ESCAPED")).await;
        inside
            .refuses("for e in $(env | cut -d= -f1); do case $e in LLM_*|AWS_*) echo LEAKED;; esac; done")
            .await;
        // The executor itself, which is given secrets.
        inside.refuses("head -c 1 /proc/$PPID/mem && echo LEAKED").await;
        inside.close().await;
    }
    assert!(victim.try_wait().unwrap().is_none(), "it was stopped");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[tokio::test]
async fn x8_the_means_of_the_sandbox_cannot_be_undone() {
    for tier in tiers() {
        let place = Place::new();
        let inside = place.open(tier, Network::Off).await;
        for attack in [
            "unshare -Ur true",
            "unshare -m true",
            "mkdir -p empty && mount -t tmpfs none empty",
            "mount -o remount,rw /",
            "chroot / true",
            "nsenter -t 1 -m true",
            "mknod disk b 254 0",
            "dd if=/dev/vda count=1 of=/dev/null",
            "test \"$(awk '/CapEff/ {print $2}' /proc/self/status)\" = 000001ffffffffff",
            "grep -q 'NoNewPrivs:.0' /proc/self/status",
            "test -S /run/docker.sock",
        ] {
            inside
                .refuses(&format!("{attack} 2>/dev/null && echo ESCAPED"))
                .await;
        }
        inside.close().await;
    }
}

#[tokio::test]
async fn n12_services_that_listen_on_socket_files_cannot_be_talked_to() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let place = Place::new();
    let socket = place.path("other/a service");
    let listener = UnixListener::bind(&socket).unwrap();
    let made_long_ago = Command::new("touch")
        .args(["-d", "2020-01-01"])
        .arg(&socket)
        .status();
    assert!(made_long_ago.unwrap().success());
    let inside = place.open(Tier::Namespaces, Network::All).await;
    let talk = format!(
        "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => \"{}\") and print \"ESCAPED\"'",
        socket.display()
    );
    inside.refuses(&talk).await;
    inside.close().await;
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
}

#[tokio::test]
async fn x5_nothing_is_left_when_a_sandbox_ends() {
    for tier in tiers() {
        let place = Place::new();
        let inside = place.open(tier, Network::default()).await;
        let mark = format!("6{}", std::process::id());
        inside
            .run(&format!(
                "setsid nohup sleep {mark} >/dev/null 2>&1 & (trap '' TERM; sleep {mark}) & echo started"
            ))
            .await;
        inside.close().await;
        let directory = place.path("state").display().to_string();
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        loop {
            let left = processes_with(&[&mark, &directory]);
            if left.is_empty() {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "{tier:?}: {left:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The command lines that name one of these.
fn processes_with(words: &[&str]) -> Vec<String> {
    let lines = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let line = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines
        .filter(|line| words.iter().any(|word| line.contains(word)))
        .collect()
}

#[tokio::test]
async fn a_sandbox_starts_though_what_it_hides_goes_in_that_moment() {
    for tier in tiers() {
        let Ok(program) = machine(tier).bubblewrap else {
            continue;
        };
        let place = Place::new();
        let script = place.path("bwrap");
        let text = format!(
            "#!/bin/sh\nmkdir \"$0.tried\" 2>/dev/null || exec {} \"$@\"\n\
             echo \"bwrap: Can't mkdir parents for /gone/socket: Read-only file system\" >&2\nexit 1\n",
            program.display()
        );
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let plan = Plan::new(place.policy(Network::Off), &machine(tier), &place.path("work")).unwrap();
        let plan = Plan {
            bubblewrap: Some(script),
            ..plan
        };
        let stream = place.workspace(Some(plan)).open().await.unwrap();
        let inside = Inside(Client::connect(stream).await.unwrap());
        assert!(inside.run("echo wo\"\"rks").await.contains("works"));
        assert!(place.path("bwrap.tried").is_dir());
        inside.close().await;
    }
}

#[tokio::test]
async fn f7_a_link_that_an_agent_leaves_does_not_lead_our_own_writing_astray() {
    for tier in tiers() {
        let place = Place::new();
        let victim = place.path("readme");
        let inside = place.open(tier, Network::Off).await;
        let own = place.path("state/executors/1");
        for name in ["in/socket", "in/log", "in/lock", "lock", "log"] {
            inside
                .run(&format!("ln -sf {} {}/{name}", victim.display(), own.display()))
                .await;
        }
        inside.close().await;
        let again = place.open(tier, Network::Off).await;
        assert!(again.run("echo ba\"\"ck").await.contains("back"), "{tier:?}");
        again.close().await;
        assert_eq!(fs::read_to_string(&victim).unwrap(), "readable", "{tier:?}");
    }
}

#[tokio::test]
async fn f7_a_link_that_an_agent_leaves_does_not_become_the_next_sandboxs_temporary_directory() {
    for tier in tiers() {
        let place = Place::new();
        let (own, secrets) = (place.path("state/executors/1"), place.path(".ssh"));
        let was = fs::metadata(&secrets).unwrap().permissions();
        let inside = place.open(tier, Network::Off).await;
        for name in ["in/tmp", "in.tmp"] {
            let temporary = own.join(name);
            let replace = format!(
                "mv {0} {0}.old; ln -s {1} {0}",
                temporary.display(),
                secrets.display()
            );
            inside.run(&replace).await;
        }
        inside.run("rmdir $TMPDIR; ln -s $HOME/.ssh $TMPDIR").await;
        inside.close().await;
        let again = place.open(tier, Network::Off).await;
        again
            .refuses("cat /tmp/id $TMPDIR/id; touch $TMPDIR/new && echo wo\"\"rks")
            .await;
        again.close().await;
        assert_eq!(fs::metadata(&secrets).unwrap().permissions(), was, "{tier:?}");
        assert!(!secrets.join("new").exists(), "{tier:?}");
    }
}

#[tokio::test]
async fn processes_are_limited_where_control_groups_are_ours() {
    if !Machine::probe().controllers.contains(&"pids") {
        return skip("cgroup v2 is not delegated with `pids`"); // which no script can change
    }
    for tier in tiers() {
        let place = Place::new();
        let mut policy = place.policy(Network::Off);
        policy.limits.pids = Some(40);
        let inside = place.open_with(tier, policy).await.unwrap();
        // It ends at once, however little it may start.
        let many = "perl -e 'for (1..100) { $p = fork; if (!defined $p) { print \"refused: $!\\n\"; last } \
                    if (!$p) { sleep 60; exit } push @k, $p } kill 9, @k'";
        let said = inside.run(many).await;
        assert!(
            said.contains("Resource temporarily unavailable"),
            "{tier:?}: {said}"
        );
        inside.close().await;
    }
}

#[test]
fn a_policy_that_cannot_be_enforced_is_refused_with_what_to_do() {
    let place = Place::new();
    let machine = Machine {
        controllers: Vec::new(),
        ..machine(Tier::Landlock)
    };
    let refusal = |policy: Policy, machine: &Machine, root: &str| {
        Plan::new(policy, machine, &place.path(root))
            .unwrap_err()
            .to_string()
    };
    let mut limited = place.policy(Network::Off);
    limited.limits.pids = Some(10);
    assert!(refusal(limited, &machine, "work").contains("cgroup v2"));
    let mut strict = place.policy(Network::Off);
    strict.minimum = Tier::Namespaces;
    assert!(refusal(strict, &machine, "work").contains("bubblewrap"));
    assert!(refusal(place.policy(Network::Off), &machine, "").contains(".ssh"));
    let without = Machine {
        landlock: 0,
        ..machine.clone()
    };
    assert!(refusal(place.policy(Network::Off), &without, "work").contains("--workspace local:PATH"));
    let docker = Machine {
        landlock: 6,
        engine_sockets: vec!["/run/docker.sock".into()],
        ..machine.clone()
    };
    assert!(refusal(place.policy(Network::Off), &docker, "work").contains("/run/docker.sock"));

    // What an old bubblewrap leaves open is said too.
    let old = Machine {
        landlock: 6,
        bubblewrap: Ok("/usr/bin/bwrap".into()),
        hides_sockets: false,
        ..machine.clone()
    };
    let plan = Plan::new(place.policy(Network::Off), &old, &place.path("work")).unwrap();
    assert_eq!(plan.gaps, [Gap::SocketsElsewhere]);
    // And what an old kernel does, where the network is the machine's.
    let older = Machine {
        landlock: 5,
        hides_sockets: true,
        ..old
    };
    let gaps = |network| {
        let plan = Plan::new(place.policy(network), &older, &place.path("work"));
        plan.unwrap().gaps
    };
    assert_eq!(gaps(Network::All), [Gap::AbstractSockets]);
    assert!(gaps(Network::default()).is_empty());

    // An allow-list becomes something stricter, and that is said.
    let plan = Plan::new(place.policy(Network::default()), &machine, &place.path("work")).unwrap();
    assert_eq!(plan.policy.network, Network::Off);
    assert!(
        plan.gaps
            .iter()
            .any(|gap| gap.to_string().contains("sandbox_network"))
    );
}

#[tokio::test]
async fn what_can_be_changed_or_read_outside_without_namespaces_is_told() {
    for tier in tiers() {
        let place = Place::new();
        let file = place.path("other/file");
        fs::write(&file, "").unwrap();
        let name = place.path("name");
        let mut terminal = Command::new("script")
            .args(["--quiet", "--command"])
            .arg("tty > new && mv new name; exec sleep 60")
            .current_dir(place.path(""))
            .arg("/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        terminal
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"typed by somebody\n")
            .unwrap();
        wait_for(&name);
        let inside = place.open(tier, Network::Off).await;
        inside.run(&format!("chmod 4777 {}", file.display())).await;
        let read = inside
            .run(&format!(
                "echo looks; timeout 2 head -n 1 $(cat {})",
                name.display()
            ))
            .await;
        assert!(read.contains("looks"), "{tier:?}: {read}");
        inside.close().await;
        terminal.kill().unwrap();
        terminal.wait().unwrap();
        let plan = Plan::new(place.policy(Network::Off), &machine(tier), &place.path("work")).unwrap();
        let is_changed = file.metadata().unwrap().mode() & 0o4000 != 0;
        assert_eq!(is_changed, plan.gaps.contains(&Gap::Permissions), "{tier:?}");
        let is_read = read.contains("typed by somebody");
        assert_eq!(is_read, plan.gaps.contains(&Gap::Terminals), "{tier:?}: {read}");
    }
}

#[test]
fn a_server_says_what_its_sandboxes_leave_open() {
    let home = Home::new();
    let mut serve = home.deft(&["serve", "--port", "0"]);
    let serve = serve.env("PATH", "/nowhere"); // where no bubblewrap is
    let mut server = serve
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap()).lines();
    let is_told = said
        .any(|line| line.is_ok_and(|line| line.starts_with("deft: note: ") && line.contains("bubblewrap")));
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(is_told);
}
