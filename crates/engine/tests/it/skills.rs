//! Skills of a workspace and of the user, in a conversation.

use std::fs;
use std::sync::Arc;

use deft_engine::{Conversation, Decision, Extensions, Notes, OfProject, SkillSources, decide};
use deft_skills::{Kind, Origin, Skill};
use deft_types::{EventBody, InvokeSkillObservation, Observation, text_of};
use deft_workspace::{Stream, Workspace, WorkspaceError};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::desk::{Desk, say, settled};

fn write(desk: &Desk, path: &str, text: &str) {
    let file = desk.executors.work.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A skill of the user's that runs a command.
fn users_own() -> Skill {
    let sent = serde_json::json!({"name": "where", "content": "You are in !`pwd`, !`exit 3`.", "description": "Place",
        "is_agentskills_format": true});
    Skill {
        origin: Origin::User,
        ..deft_skills::sent(&sent).unwrap()
    }
}

fn extensions(others: Vec<Skill>) -> Extensions {
    Extensions {
        skills: Some(SkillSources {
            project: OfProject::Used,
            others,
            disabled: vec!["unwanted".to_owned()],
            files: None,
        }),
        ..Extensions::default()
    }
}

async fn opened(desk: &Desk, others: Vec<Skill>) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.extensions = extensions(others);
    Conversation::open(parts).await.unwrap()
}

struct Unreachable;

impl Workspace for Unreachable {
    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        std::future::ready(None).boxed()
    }

    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        std::future::ready(Err(WorkspaceError::Missing("/gone".into()))).boxed()
    }
}

async fn answers(desk: &Desk) -> Vec<InvokeSkillObservation> {
    let events = desk.events().await;
    let answers = events.into_iter().filter_map(|event| match event.body {
        EventBody::Observation(result) => match result.observation {
            Observation::InvokeSkill(answer) => Some(*answer),
            _ => None,
        },
        _ => None,
    });
    answers.collect()
}

#[tokio::test]
async fn skills_of_the_workspace_stand_in_the_prompt_and_come_when_their_words_are_said() {
    let script = "[{text: one}, {text: two}]";
    let desk = Desk::new(script).await;
    write(&desk, "AGENTS.md", "Run the tests.");
    write(
        &desk,
        ".agents/skills/release/SKILL.md",
        "---\ndescription: Make a release\n---\nTag it.",
    );
    write(
        &desk,
        ".agents/skills/unwanted/SKILL.md",
        "---\ndescription: Nobody\n---\nwants it.",
    );
    write(
        &desk,
        ".openhands/microagents/docker.md",
        "---\ntriggers: [docker]\n---\nStart dockerd.",
    );
    let conversation = opened(&desk, Vec::new()).await;
    for text in ["use docker", "docker again"] {
        say(&conversation, text).await;
        conversation.run().await.unwrap();
        settled(&conversation).await;
    }

    {
        let requests = desk.model.requests.lock().unwrap();
        let prompt = text_of(&requests[0].messages[0].content);
        for part in [
            "Run the tests.",
            "<name>release</name>",
            "Make a release",
            "<name>docker</name>",
        ] {
            assert!(prompt.contains(part), "{part} is not in:\n{prompt}");
        }
        assert!(
            !prompt.contains("unwanted") && !prompt.contains("Tag it."),
            "{prompt}"
        );
        assert!(
            prompt.ends_with("</time>"),
            "what changes most is not last:\n{prompt}"
        );
        assert!(requests[0].tools.iter().any(|tool| tool.name == "invoke_skill"));
        assert!(text_of(&requests[0].messages[1].content).contains("Start dockerd."));
    }

    let events = desk.events().await;
    let said: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Message(said) if event.source == deft_types::Source::User => Some(said),
            _ => None,
        })
        .collect();
    assert_eq!(said[0].activated_skills, ["docker"]);
    assert_eq!(said[0].llm_message.plain_text(), "use docker");
    assert!(said[1].activated_skills.is_empty() && said[1].extended_content.is_empty());
    assert_eq!(desk.rebuilt().await, conversation.inspect().await.unwrap());
}

#[tokio::test]
async fn a_skill_is_read_with_parameters_that_fit_and_found_by_other_words() {
    let script = r"
- tool_calls: [{name: invoke_skill, arguments: {name: ship}}]
- tool_calls: [{name: invoke_skill, arguments: {name: ship, parameters: {target: staging}}}]
- tool_calls: [{name: invoke_skill, arguments: {name: put it on a server}}]
- text: done
";
    let desk = Desk::new(script).await;
    let skill = "---\ndescription: Put it on a server\ncapabilities: [deploy]\ninput_schema: {type: object, properties: {target: {type: string}}, required: [target]}\n---\nShip to ${target}, see !`cat secret`.";
    write(&desk, ".agents/skills/ship/SKILL.md", skill);
    let conversation = opened(&desk, Vec::new()).await;
    desk.run(&conversation).await;

    let answers = answers(&desk).await;
    let text = |index: usize| text_of(&answers[index].content);
    assert!(
        answers[0].is_error && text(0).contains("`target` is missing"),
        "{}",
        text(0)
    );
    assert!(
        text(1).starts_with("Ship to staging, see !`cat secret`."),
        "{}",
        text(1)
    );
    assert!(
        text(1).contains("are not trusted and were not run"),
        "{}",
        text(1)
    );
    assert!(
        !answers[2].is_error && text(2).contains("- ship (skill): Put it on a server"),
        "{}",
        text(2)
    );
}

#[tokio::test]
async fn commands_of_the_users_own_skills_run_in_the_workspace() {
    let script = "[{tool_calls: [{name: invoke_skill, arguments: {name: where}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    assert_eq!(users_own().kind, Kind::Agent);
    let conversation = opened(&desk, vec![users_own()]).await;
    desk.run(&conversation).await;
    let answers = answers(&desk).await;
    let place = fs::canonicalize(&desk.executors.work).unwrap();
    let expected = format!(
        "You are in {}, [Error: `exit 3` ended with 3: ].",
        place.display()
    );
    let text = text_of(&answers[0].content);
    assert!(text.starts_with(&expected), "{text}");
}

#[tokio::test]
async fn a_command_in_a_skill_of_a_client_stays_unrun() {
    let desk =
        Desk::new("[{tool_calls: [{name: invoke_skill, arguments: {name: where}}]}, {text: done}]").await;
    let sent = serde_json::json!({"name": "where", "content": "You are in !`touch ran`.", "description": "Place",
        "is_agentskills_format": true});
    let conversation = opened(&desk, vec![deft_skills::sent(&sent).unwrap()]).await;
    desk.run(&conversation).await;
    let text = text_of(&answers(&desk).await[0].content);
    assert!(text.starts_with("You are in !`touch ran`."), "{text}");
    assert!(!desk.executors.work.join("ran").exists());
}

#[tokio::test]
async fn rules_for_a_file_come_with_the_first_result_that_touches_it() {
    let script = r"
- tool_calls: [{name: file_editor, arguments: {command: view, path: web/a.ts}}]
- tool_calls: [{name: file_editor, arguments: {command: view, path: ./web/b.ts}}]
- text: done
";
    let desk = Desk::new(script).await;
    write(&desk, "web/AGENTS.md", "Use TypeScript.");
    write(&desk, "web/a.ts", "1");
    write(&desk, "web/b.ts", "2");
    let conversation = opened(&desk, Vec::new()).await;
    desk.run(&conversation).await;

    let events = desk.events().await;
    let given: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Observation(result) => Some(text_of(&result.extended_content)),
            _ => None,
        })
        .collect();
    assert!(given[0].contains("Use TypeScript."), "{given:?}");
    assert_eq!(given[1], "");
    assert_eq!(desk.rebuilt().await, conversation.inspect().await.unwrap());
}

#[tokio::test]
async fn a_workspace_that_cannot_be_read_leaves_the_users_own_skills() {
    let desk = Desk::new("[{text: hello}]").await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.workspace = Arc::new(Unreachable);
    parts.extensions = extensions(vec![users_own()]);
    let conversation = Conversation::open(parts).await.unwrap();
    desk.run(&conversation).await;
    let requests = desk.model.requests.lock().unwrap();
    assert!(text_of(&requests[0].messages[0].content).contains("<name>where</name>"));
}

#[tokio::test]
async fn what_a_project_would_run_waits_for_a_decision_about_the_very_text() {
    let script = "[{tool_calls: [{name: invoke_skill, arguments: {name: where}}]}, {text: done}]";
    let skill = "---\ndescription: Place\n---\nYou are in !`echo HERE | tr A-Z a-z`.";
    let hooks = r#"{"hooks": {"Stop": [{"hooks": [{"command": "echo x >> stopped"}]}]}}"#;
    let desk = Desk::new(script).await;
    let project = || Extensions {
        project_hooks: OfProject::Used,
        ..extensions(Vec::new())
    };
    write(&desk, ".agents/skills/where/SKILL.md", skill);
    write(&desk, ".openhands/hooks.json", hooks);
    let run = async |text: &str| {
        let mut parts = desk.parts(Desk::limits()).await;
        parts.extensions = project();
        let conversation = Conversation::open(parts).await.unwrap();
        say(&conversation, text).await;
        conversation.run().await.unwrap();
        settled(&conversation).await;
        let undecided = conversation.inspect().await.unwrap().undecided;
        conversation.close(deft_engine::ExecutorFate::Keep).await;
        undecided
    };

    let undecided = run("first").await;
    let paths: Vec<_> = undecided.iter().map(|provided| provided.path.as_str()).collect();
    assert_eq!(paths, [".openhands/hooks.json", ".agents/skills/where/SKILL.md"]);
    assert_eq!(desk.file("stopped"), "");
    let answer = text_of(&answers(&desk).await[0].content);
    assert!(answer.contains("are not trusted and were not run"), "{answer}");

    for provided in &undecided {
        let decision = Some(Decision::Allow);
        decide(desk.store.as_ref(), &provided.fingerprint, decision)
            .await
            .unwrap();
    }
    assert_eq!(run("second").await, []);
    assert_eq!(desk.file("stopped"), "x\n");

    write(&desk, ".openhands/hooks.json", &hooks.replace("echo x", "echo y"));
    assert_eq!(run("third").await.len(), 1);
    assert_eq!(desk.file("stopped"), "x\n");
    assert_eq!(desk.rebuilt().await.undecided.len(), 1);
}

#[tokio::test]
async fn a_decision_about_the_servers_of_a_microagent_covers_the_scripts_that_they_name() {
    let desk = Desk::new("[{text: one}, {text: two}, {text: three}]").await;
    let server = "{name: near, command: sh, args: [./near.sh]}";
    write(
        &desk,
        ".openhands/microagents/near.md",
        &format!("---\nmcp_tools:\n  stdio_servers:\n  - {server}\n---\nUse it."),
    );
    write(&desk, "near.sh", "exec one");
    let run = async || {
        let mut parts = desk.parts(Desk::limits()).await;
        parts.extensions = Extensions {
            project_hooks: OfProject::Used,
            ..extensions(Vec::new())
        };
        let conversation = Conversation::open(parts).await.unwrap();
        say(&conversation, "go").await;
        conversation.run().await.unwrap();
        settled(&conversation).await;
        let undecided = conversation.inspect().await.unwrap().undecided;
        conversation.close(deft_engine::ExecutorFate::End).await;
        undecided
    };

    let undecided = run().await;
    assert_eq!(undecided.len(), 1, "{undecided:?}");
    assert_eq!(undecided[0].scripts, ["near.sh"]);
    decide(
        desk.store.as_ref(),
        &undecided[0].fingerprint,
        Some(Decision::Allow),
    )
    .await
    .unwrap();
    assert_eq!(run().await, []);

    write(&desk, "near.sh", "exec another");
    assert_eq!(run().await.len(), 1);
}

#[tokio::test]
async fn what_belongs_to_a_skill_is_fetched_and_nothing_else_and_its_result_is_checked() {
    let call = |arguments: &str| {
        format!("- tool_calls: [{{name: invoke_skill, arguments: {{name: ship, {arguments}}}}}]\n")
    };
    let calls = [
        "fetch: references/guide.md",
        "fetch: ../../../secret",
        "fetch: 'https://other.example/?q=data'",
        "result: {verdict: 1}",
        "result: {verdict: fine}",
    ];
    let script = calls.iter().map(|arguments| call(arguments)).collect::<String>() + "- text: done\n";
    let desk = Desk::new(&script).await;
    write(
        &desk,
        ".agents/skills/ship/SKILL.md",
        "---\ndescription: Ship it\nurls: [https://docs.example/ship]\noutput_schema: {type: object, properties: \
         {verdict: {type: string, enum: [fine, bad]}}, required: [verdict]}\n---\nShip.",
    );
    write(
        &desk,
        ".agents/skills/ship/references/guide.md",
        "Weigh the anchor.",
    );
    write(&desk, "secret", "nobody's business");
    let conversation = opened(&desk, Vec::new()).await;
    desk.run(&conversation).await;
    let answers: Vec<_> = answers(&desk)
        .await
        .iter()
        .map(|answer| (answer.is_error, text_of(&answer.content)))
        .collect();
    let expected = [
        (false, "Weigh the anchor."),
        (
            true,
            "The skill has no '../../../secret'. It has: references/guide.md, https://docs.example/ship.",
        ),
        (true, "The skill has no 'https://other.example/?q=data'"),
        (true, "The result does not fit: `verdict`"),
        (false, "The result fits."),
    ];
    for ((is_error, text), (expected_error, words)) in answers.iter().zip(expected) {
        assert_eq!(*is_error, expected_error, "{text}");
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(answers.len(), expected.len());
}

#[tokio::test]
async fn rules_for_files_come_with_patches_and_with_what_searches_them() {
    let patch = "*** Begin Patch\\n*** Add File: made/a.txt\\n+one\\n*** End Patch";
    let script = format!(
        r#"
- tool_calls: [{{name: apply_patch, arguments: {{patch: "{patch}"}}}}]
- tool_calls: [{{name: grep, arguments: {{pattern: x, path: searched}}}}]
- tool_calls: [{{name: glob, arguments: {{pattern: "*", path: "./listed/"}}}}]
- text: done
"#
    );
    let desk = Desk::new(&script).await;
    for folder in ["made", "searched", "listed", "untouched"] {
        write(
            &desk,
            &format!("{folder}/AGENTS.md"),
            &format!("How to treat {folder}."),
        );
    }
    let conversation = opened(&desk, Vec::new()).await;
    desk.run(&conversation).await;
    let events = desk.events().await;
    let added = events.iter().filter_map(|event| match &event.body {
        EventBody::Observation(result) => Some(text_of(&result.extended_content)),
        _ => None,
    });
    let added: Vec<_> = added.collect();
    for (folder, text) in ["made", "searched", "listed"].iter().zip(&added) {
        assert!(text.contains(&format!("How to treat {folder}.")), "{added:?}");
    }
    assert!(!added.concat().contains("untouched"));
}

#[tokio::test]
async fn rules_for_files_come_with_commands_that_name_them_wherever_the_shell_stands() {
    let script = r#"
- tool_calls: [{name: terminal, arguments: {command: "cat < read/a.txt"}}]
- tool_calls: [{name: terminal, arguments: {command: "cd made && echo x > ./a.txt"}}]
- tool_calls: [{name: terminal, arguments: {command: "ls inner"}}]
- text: done
"#;
    let desk = Desk::new(script).await;
    write(&desk, "read/a.txt", "1");
    for folder in ["read", "made", "made/inner", "untouched"] {
        write(
            &desk,
            &format!("{folder}/AGENTS.md"),
            &format!("How to treat {folder}."),
        );
    }
    let conversation = opened(&desk, Vec::new()).await;
    desk.run(&conversation).await;
    let events = desk.events().await;
    let added = events.iter().filter_map(|event| match &event.body {
        EventBody::Observation(result) => Some(text_of(&result.extended_content)),
        _ => None,
    });
    let added: Vec<_> = added.collect();
    for (folder, text) in ["read", "made", "made/inner"].iter().zip(&added) {
        assert!(text.contains(&format!("How to treat {folder}.")), "{added:?}");
    }
    assert!(!added.concat().contains("untouched"), "{added:?}");
}

#[tokio::test]
async fn notes_of_earlier_conversations_stand_in_the_prompt() {
    let desk = Desk::new("[{text: done}]").await;
    write(&desk, ".openhands/memory/MEMORY.md", "Tests need a database.");
    write(&desk, ".openhands/memory/2026-01-01.md", "A long day.");
    let mut parts = desk.parts(Desk::limits()).await;
    parts.extensions.notes = Notes::Used {
        of_user: Some("The user likes Rust.".to_owned()),
    };
    let conversation = Conversation::open(parts).await.unwrap();
    desk.run(&conversation).await;
    let prompt = desk.model.requests.lock().unwrap()[0].messages[0].plain_text();
    let notes = "The user likes Rust.\n\nTests need a database.";
    assert!(
        prompt.contains(notes) && !prompt.contains("A long day."),
        "{prompt}"
    );
}
