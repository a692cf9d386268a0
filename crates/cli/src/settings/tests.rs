use super::*;
use clap::Parser as _;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

/// A home and a workspace of a test's own.
struct Machine {
    dir: TempDir,
    env: Vec<(&'static str, &'static str)>,
    flags: Vec<&'static str>,
}

#[derive(clap::Parser)]
struct CommandLine {
    #[command(flatten)]
    flags: Flags,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("home/.deft")).unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Self {
            dir,
            env: Vec::new(),
            flags: Vec::new(),
        }
    }

    fn file(self, path: &str, text: &str) -> Self {
        fs::write(self.path(path), text).unwrap();
        self
    }

    fn users(self, text: &str) -> Self {
        self.file("home/.deft/deft.toml", text)
    }

    fn projects(self, text: &str) -> Self {
        self.file("work/deft.toml", text)
    }

    fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.push((name, value));
        self
    }

    fn flag(mut self, flag: &'static str) -> Self {
        self.flags.push(flag);
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings {
            env: self
                .env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            home: Some(self.path("home")),
            current_dir: self.path("work"),
        }
    }

    fn load(&self) -> Result<Settings, SettingsError> {
        let flags = CommandLine::parse_from(["deft"].iter().chain(&self.flags)).flags;
        Settings::load(&flags, &self.surroundings(), &self.path("work"))
    }

    fn settings(&self) -> Settings {
        self.load().unwrap()
    }

    /// What is wrong, with the temporary directory cut off.
    fn error(&self) -> String {
        let root = format!("{}/", self.dir.path().display());
        self.load().unwrap_err().to_string().replace(&root, "")
    }
}

#[test]
fn defaults_stand_where_nothing_is_set() {
    let machine = Machine::new();
    let settings = machine.settings();
    assert_eq!(settings.model.value, None);
    assert_eq!(settings.data_dir.value, machine.path("home/.deft"));
    assert_eq!(
        settings.max_steps,
        Setting {
            value: 500,
            source: Source::Default
        }
    );
    assert_eq!(settings.max_cost.value, None);
    assert_eq!(settings.durability.value, Durability::Process);
    assert_eq!(settings.connect_timeout.value, Duration::from_secs(10));
    assert_eq!(settings.idle_timeout.value, Duration::from_mins(2));
    assert_eq!(settings.terminal_no_change_timeout.value, Duration::from_secs(30));
    assert_eq!(settings.executor_linger.value, Duration::from_mins(5));
}

#[test]
fn each_layer_is_stronger_than_the_one_before() {
    let machine = Machine::new().users("\nidle_timeout = 1");
    let path = machine.path("home/.deft/deft.toml");
    let source = |machine: &Machine| machine.settings().idle_timeout.source;
    assert_eq!(
        source(&machine),
        Source::File {
            path,
            line: 2,
            owner: FileOwner::User
        }
    );

    let machine = machine.projects("idle_timeout = 2");
    let path = machine.path("work/deft.toml");
    assert_eq!(
        source(&machine),
        Source::File {
            path,
            line: 1,
            owner: FileOwner::Project
        }
    );

    let machine = machine.env("DEFT_IDLE_TIMEOUT", "3");
    assert_eq!(source(&machine), Source::Environment("DEFT_IDLE_TIMEOUT"));

    let machine = machine.flag("--idle-timeout=4");
    assert_eq!(source(&machine), Source::Flag("idle-timeout"));
    assert_eq!(machine.settings().idle_timeout.value, Duration::from_secs(4));
}

#[test]
fn both_files_are_read_key_by_key() {
    let settings = Machine::new()
        .users("model = \"a/b\"\napi_key = \"k\"\nmax_cost = 3")
        .projects("model = \"c/d\"")
        .settings();
    assert_eq!(settings.model.value.as_deref(), Some("c/d"));
    assert_eq!(settings.api_key.value.unwrap().expose(), "k");
    assert_eq!(settings.max_cost.value, "3".parse().ok());
}

#[test]
fn the_own_variable_wins_over_the_shared_one_and_an_empty_one_is_none() {
    let machine = Machine::new()
        .env("LLM_MODEL", "theirs")
        .env("DEFT_MODEL", "ours");
    assert_eq!(machine.settings().model.value.as_deref(), Some("ours"));

    let machine = Machine::new().env("LLM_MODEL", "theirs").env("DEFT_MODEL", "");
    assert_eq!(machine.settings().model.source, Source::Environment("LLM_MODEL"));
}

#[test]
fn a_named_file_is_read_instead_of_both_and_trusted() {
    let machine = Machine::new()
        .users("model = \"no\"")
        .projects("nonsense")
        .file(
            "work/mine.toml",
            "base_url = \"https://example.org/v1/\"\ndata_dir = \"data\"",
        )
        .flag("--config=mine.toml");
    let settings = machine.settings();
    assert_eq!(settings.model.value, None);
    assert_eq!(
        settings.base_url.value.unwrap().as_str(),
        "https://example.org/v1"
    );
    assert_eq!(settings.data_dir.value, machine.path("work/data"));

    let machine = Machine::new().flag("--config=missing.toml");
    assert_eq!(
        machine.error(),
        "cannot read work/missing.toml: No such file or directory (os error 2); check its name and permissions"
    );
}

#[test]
fn a_project_may_not_set_what_decides_over_keys_and_data() {
    for (key, variable, line) in [
        ("api_key", "DEFT_API_KEY", "api_key = \"k\""),
        ("base_url", "DEFT_BASE_URL", "base_url = \"https://evil.example\""),
        ("ca_file", "DEFT_CA_FILE", "ca_file = \"evil.pem\""),
        ("mcp_config", "DEFT_MCP_CONFIG", "mcp_config = \"evil.json\""),
        (
            "mcpServers",
            "DEFT_MCP_CONFIG",
            "[mcpServers.x]\ncommand = \"evil\"",
        ),
        (
            "webhooks",
            "OH_WEBHOOKS",
            "[[webhooks]]\nbase_url = \"https://evil.example\"",
        ),
        ("data_dir", "DEFT_DATA_DIR", "data_dir = \"/tmp\""),
        ("durability", "DEFT_DURABILITY", "durability = \"fsync\""),
        ("executor_linger", "DEFT_EXECUTOR_LINGER", "executor_linger = 9"),
        ("workspace", "DEFT_WORKSPACE", "workspace = \"local:/\""),
        ("workspace_pool", "DEFT_WORKSPACE_POOL", "workspace_pool = 9"),
        (
            "workspace_max_age",
            "DEFT_WORKSPACE_MAX_AGE",
            "workspace_max_age = 9",
        ),
        ("ssh_config", "DEFT_SSH_CONFIG", "ssh_config = \"evil\""),
        ("remote_key", "DEFT_REMOTE_KEY", "remote_key = \"k\""),
        ("web_addresses", "DEFT_WEB_ADDRESSES", "web_addresses = \"all\""),
        (
            "sandbox_network",
            "DEFT_SANDBOX_NETWORK",
            "sandbox_network = \"all\"",
        ),
        (
            "sandbox_allow",
            "DEFT_SANDBOX_ALLOW",
            "sandbox_allow = \"evil.example\"",
        ),
        ("sandbox_write", "DEFT_SANDBOX_WRITE", "sandbox_write = \"~\""),
        (
            "sandbox_minimum",
            "DEFT_SANDBOX_MINIMUM",
            "sandbox_minimum = \"landlock\"",
        ),
        (
            "a model that starts with script:",
            "DEFT_MODEL",
            "model = \" Script:evil.toml\"",
        ),
        (
            "a model that starts with replay:",
            "DEFT_MODEL",
            "model = \"replay:evil.jsonl\"",
        ),
        (
            "a model that starts with record:",
            "DEFT_MODEL",
            "model = \"record:.bashrc:demo\"",
        ),
    ] {
        // Not even where a stronger layer would hide it.
        let machine = Machine::new().projects(line).env("DEFT_MODEL", "a/b");
        assert_eq!(
            machine.error(),
            format!(
                "work/deft.toml:1: a project may not set {key}, because whoever wrote the repository would \
                 decide it for you; remove it there, and set it in ~/.deft/deft.toml or as {variable} if you \
                 want it"
            )
        );
    }
}

#[test]
fn the_users_file_names_webhooks_and_says_what_is_wrong_with_one() {
    let hook = "[[webhooks]]\nbase_url = \"https://a.example/hook\"\nflush_delay = 1\n";
    let settings = Machine::new().users(hook).settings();
    assert_eq!(settings.webhooks[0].base_url.as_str(), "https://a.example/hook");
    let error = Machine::new()
        .users("[[webhooks]]\nbase_url = \"nowhere\"\n")
        .error();
    assert!(error.contains("base_url must be an address"), "{error}");
}

#[test]
fn the_users_file_says_who_signs_people_in() {
    let oidc =
        "[oidc]\nissuer = \"https://id.example\"\nclient_id = \"deft\"\nroles = { \"a b\" = \"viewer\" }\n";
    assert!(Machine::new().users(oidc).settings().sign_in.is_some());
    let error = Machine::new()
        .users("[oidc]\nissuer = \"http://id.example\"\nclient_id = \"x\"")
        .error();
    assert!(error.contains("https"), "{error}");
    let error = Machine::new().projects(oidc).error();
    assert!(error.contains("a project may not"), "{error}");
}

#[test]
fn a_project_can_lower_the_users_limits_but_not_raise_them() {
    let users = || Machine::new().users("max_steps = 100\nmax_cost = 2");
    let raised = users().projects("max_steps = 1000\nmax_cost = 99.5").settings();
    assert_eq!(
        (raised.max_steps.value, raised.max_cost.value),
        (100, "2".parse().ok())
    );
    let lowered = users().projects("max_steps = 9\nmax_cost = 0.5").settings();
    assert_eq!(
        (lowered.max_steps.value, lowered.max_cost.value),
        (9, "0.5".parse().ok())
    );

    // A limit where there is none is a lower one; a default is a limit of the user's too.
    let chosen = Machine::new()
        .projects("max_steps = 1_000\nmax_cost = 99.5\nmodel_attempts = 1000")
        .settings();
    assert_eq!(
        (
            chosen.max_steps.value,
            chosen.max_cost.value,
            chosen.model_attempts.value
        ),
        (500, "99.5".parse().ok(), 5)
    );
}

#[test]
fn the_users_file_is_not_a_project_when_work_is_done_in_its_directory() {
    let machine = Machine::new().users("durability = \"fsync\"");
    let settings = Settings::load(
        &Flags::default(),
        &machine.surroundings(),
        &machine.path("home/.deft"),
    )
    .unwrap();
    assert_eq!(settings.durability.value, Durability::Fsync);
}

#[test]
fn mistakes_in_a_file_are_told_with_file_line_and_remedy() {
    for (text, expected) in [
        (
            "\nmax_step = 5",
            "2: there is no setting \"max_step\"; did you mean max_steps?",
        ),
        (
            "[llm]\nmodel = \"x\"",
            "1: there is no setting \"llm\"; known are model, condenser_model, condenser_kind, title_model, judge_model, confirm, critic_model, agents_model, api_key, base_url, ca_file, otlp_endpoint, mcp_config, data_dir, max_steps, max_cost, max_tokens, max_time, max_agents, max_depth, \
             durability, connect_timeout, idle_timeout, total_timeout, model_attempts, terminal_no_change_timeout, executor_linger, \
             workspace, workspace_pool, workspace_max_age, ssh_config, remote_key, web_addresses, sandbox_network, sandbox_allow, sandbox_write, sandbox_minimum, sandbox_pids, sandbox_memory, sandbox_cpu",
        ),
        (
            "\n\nmax_steps = \"5\"",
            "3: max_steps must be a whole number from 1, but is of type string",
        ),
        (
            "model = 5",
            "1: model must be text on one line, but is of type integer",
        ),
        (
            "max_steps = 0",
            "1: max_steps must be a whole number from 1, but is \"0\"",
        ),
        (
            "max_steps = 0x10\nmax_cost = -1",
            "2: max_cost must be US dollars above 0, such as 2.50, but is \"-1\"",
        ),
        (
            "idle_timeout = inf",
            "1: idle_timeout must be seconds, more than 0 and at most a week (604800), but is \"inf\"",
        ),
        (
            "model = \"a\\u001bb\"",
            "1: model must be text on one line, but is \"a\\u{1b}b\"",
        ),
        (
            "api_key = \"\"",
            "1: api_key must be text on one line, but is a value that is not shown here",
        ),
        (
            "durability = \"always\"",
            "1: durability must be process or fsync, but is \"always\"",
        ),
        (
            "base_url = \"https://me:pw@host\"",
            "1: base_url must be an address that starts with http:// or https:// and holds no user name or \
             password, but is a value that is not shown here",
        ),
    ] {
        let machine = Machine::new().users(text).env("DEFT_MODEL", "hides/nothing");
        assert_eq!(
            machine.error(),
            format!("home/.deft/deft.toml:{expected}"),
            "{text}"
        );
    }
    let error = Machine::new().users("\nmodel = ").error();
    assert!(
        error.starts_with("home/.deft/deft.toml:2: this is not TOML: "),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn mistakes_in_variables_and_flags_name_them() {
    let machine = Machine::new().env("DEFT_MAX_STEPS", "many");
    assert_eq!(
        machine.error(),
        "environment variable DEFT_MAX_STEPS: max_steps must be a whole number from 1, but is \"many\""
    );
    let machine = Machine::new().flag("--max-cost=free");
    assert_eq!(
        machine.error(),
        "--max-cost: max_cost must be US dollars above 0, such as 2.50, but is \"free\""
    );
}

#[test]
fn a_project_file_that_is_no_plain_short_file_is_refused_unread() {
    let expected =
        "work/deft.toml is not a plain file of at most 65536 bytes of UTF-8 text; put another in its place";
    let machine = Machine::new();
    std::os::unix::fs::symlink("/dev/zero", machine.path("work/deft.toml")).unwrap();
    assert_eq!(machine.error(), expected);
    assert_eq!(Machine::new().projects(&"#".repeat(65_537)).error(), expected);
}

#[test]
fn a_missing_home_matters_only_where_it_is_needed() {
    let homeless = Surroundings {
        home: None,
        ..Machine::new().surroundings()
    };
    let load = |flags| Settings::load(&flags, &homeless, Path::new("/nowhere"));
    assert_eq!(
        load(Flags::default()).unwrap_err().to_string(),
        "the default of data_dir is below the home directory, and there is none; set HOME or data_dir"
    );
    let flags = CommandLine::parse_from(["deft", "--data-dir=/data"]).flags;
    assert_eq!(load(flags).unwrap().data_dir.value, Path::new("/data"));
}

#[test]
fn a_secret_has_no_flag_and_is_shown_nowhere() {
    assert!(CommandLine::try_parse_from(["deft", "--api-key=k"]).is_err());
    let settings = Machine::new().env("LLM_API_KEY", "sk-very-secret").settings();
    for text in [
        settings.to_text(),
        settings.to_json().to_string(),
        format!("{settings:?}"),
    ] {
        assert!(
            text.contains("**********") && !text.contains("sk-very-secret"),
            "{text}"
        );
    }
}

#[test]
fn the_settings_are_shown_as_a_file_with_sources() {
    let machine = Machine::new()
        .users("data_dir = \"~/d\"\nconnect_timeout = 0.5")
        .env("LLM_API_KEY", "secret")
        .flag("--model=a/b");
    let root = format!("{}/", machine.dir.path().display());
    let text = machine.settings().to_text();
    assert!(toml::from_str::<toml::Table>(&text).is_ok(), "{text}");
    // The root's length varies, and with it the padding.
    let words: Vec<String> = text
        .replace(&root, "")
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        words,
        [
            "model = \"a/b\" # --model",
            "# condenser_model is not set",
            "# condenser_kind is not set",
            "# title_model is not set",
            "# judge_model is not set",
            "confirm = \"never\" # default",
            "# critic_model is not set",
            "# agents_model is not set",
            "api_key = \"**********\" # environment variable LLM_API_KEY",
            "# base_url is not set",
            "# ca_file is not set",
            "# otlp_endpoint is not set",
            "# mcp_config is not set",
            "data_dir = \"home/d\" # home/.deft/deft.toml:1",
            "max_steps = 500 # default",
            "# max_cost is not set",
            "# max_tokens is not set",
            "# max_time is not set",
            "max_agents = 32 # default",
            "max_depth = 2 # default",
            "durability = \"process\" # default",
            "connect_timeout = 0.5 # home/.deft/deft.toml:2",
            "idle_timeout = 120 # default",
            "total_timeout = 3600 # default",
            "model_attempts = 5 # default",
            "terminal_no_change_timeout = 30 # default",
            "executor_linger = 300 # default",
            "# workspace is not set",
            "# workspace_pool is not set",
            "# workspace_max_age is not set",
            "# ssh_config is not set",
            "# remote_key is not set",
            "# web_addresses is not set",
            "sandbox_network = \"allow-list\" # default",
            "# sandbox_allow is not set",
            "# sandbox_write is not set",
            "sandbox_minimum = \"landlock\" # default",
            "# sandbox_pids is not set",
            "# sandbox_memory is not set",
            "# sandbox_cpu is not set",
        ]
    );
    let json = machine.settings().to_json();
    assert_eq!(
        json["model"],
        serde_json::json!({"value": "a/b", "source": "--model"})
    );
    assert_eq!(
        json["max_cost"],
        serde_json::json!({"value": null, "source": "default"})
    );
}

#[test]
fn a_workspace_can_be_a_table() {
    let machine = Machine::new()
        .users("max_steps = 7\n[workspace]\nkind = \"docker\"\nimage = \"debian:12\"\nmemory = 2048");
    let settings = machine.settings();
    let name = settings.workspace.value.map(|name| name.to_string());
    assert_eq!(name.as_deref(), Some("docker:debian:12?memory=2048"));
    let machine = Machine::new().users("workspace = {kind = \"docker\"}");
    let error = machine.error();
    assert!(error.contains("`image` is missing"), "{error}");
    let error = Machine::new().users("workspace = {kind = \"dokcer\"}").error();
    assert!(error.contains("dokcer") && !error.contains("of type"), "{error}");
}

#[test]
fn the_help_of_a_flag_names_its_variables_and_default() {
    use clap::CommandFactory as _;
    let help = CommandLine::command().term_width(200).render_help().to_string();
    let expected = "Steps an agent may take in one run [env: DEFT_MAX_STEPS] [default: 500]";
    assert!(help.contains(expected), "{help}");
}

#[test]
fn keys_that_begin_alike_can_stand_in_a_table() {
    let machine = Machine::new().users("[condenser]\nmodel = \"fast\"\n\n[sandbox]\nnetwork = \"off\"");
    let settings = machine.settings();
    assert_eq!(settings.condenser_model.value.as_deref(), Some("fast"));
    assert_eq!(settings.sandbox_network.value, super::NetworkMode::Off);
    assert_eq!(
        Machine::new().users("[condenser]\nmodle = \"fast\"").error(),
        "home/.deft/deft.toml:2: there is no setting \"condenser_modle\"; did you mean condenser_model?"
    );
    let scripted = Machine::new().projects("[condenser]\nmodel = \"script:evil\"");
    assert!(scripted.error().contains("a project may not set"));
}
