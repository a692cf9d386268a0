//! Agents that only plan.

use deft_engine::{APPROVED, Conversation, ExecutorFate, Mode, Rewind};
use deft_tools::Overwrite;
use deft_types::{EventBody, Role, Source, Status};

use crate::desk::{Desk, assert_paired, say, settled};

async fn opened(desk: &Desk, mode: Mode) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.supervision.mode = mode;
    Conversation::open(parts).await.unwrap()
}

#[tokio::test]
async fn an_agent_that_plans_can_change_nothing_but_the_plan_and_works_when_it_is_approved() {
    let desk = Desk::new("[]").await;
    let plan = desk.executors.work.join(".agents_tmp/PLAN.md");
    let script = format!(
        "- tool_calls:\n\
         \x20 - {{name: terminal, arguments: {{command: touch broken}}}}\n\
         \x20 - {{name: file_editor, arguments: {{command: create, path: {work}/broken, file_text: x}}}}\n\
         \x20 - {{name: planning_file_editor, arguments: {{command: create, path: {work}/broken, file_text: x}}}}\n\
         \x20 - {{name: planning_file_editor, arguments: {{command: create, path: {plan}, file_text: the plan}}}}\n\
         - text: this is the plan\n\
         - tool_calls: [{{name: terminal, arguments: {{command: touch made}}}}]\n\
         - text: done\n",
        work = desk.executors.work.display(),
        plan = plan.display(),
    );
    let desk = desk.with_script(&script);
    let conversation = opened(&desk, Mode::Plan).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert!(!desk.executors.work.join("broken").exists());
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), "the plan");
    let events = desk.events().await;
    assert_paired(&events);
    let refused = events
        .iter()
        .filter(|event| matches!(event.body, EventBody::AgentError(_)));
    assert_eq!(refused.count(), 2, "tools that change something are not there");
    {
        let requests = desk.model.requests.lock().unwrap();
        let told = requests[0]
            .messages
            .iter()
            .rfind(|message| message.role == Role::User);
        assert!(told.unwrap().plain_text().contains("Plan mode"));
        assert!(!requests[0].tools.iter().any(|tool| tool.name == "terminal"));
    }
    let state = conversation.inspect().await.unwrap();
    assert_eq!((state.mode, &state), (Mode::Plan, &desk.rebuilt().await));
    conversation.close(ExecutorFate::Keep).await;

    let conversation = opened(&desk, Mode::Act).await;
    say(&conversation, APPROVED).await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert!(desk.executors.work.join("made").exists());
    assert_eq!(desk.rebuilt().await.mode, Mode::Act);
}

#[tokio::test]
async fn files_go_back_to_before_the_work_from_a_plan_that_stays_and_not_while_the_agent_plans() {
    let desk = Desk::new("[]").await;
    let plan = desk.executors.work.join(".agents_tmp/PLAN.md");
    let script = format!(
        "- text: let me think\n\
         - tool_calls: [{{name: planning_file_editor, arguments: {{command: create, path: {plan}, file_text: the plan}}}}]\n\
         - text: this is the plan\n\
         - tool_calls: [{{name: terminal, arguments: {{command: echo work > made}}}}]\n\
         - text: done\n",
        plan = plan.display(),
    );
    let desk = desk.with_script(&script);
    let recording = |mode| {
        let desk = &desk;
        async move {
            let mut parts = desk.parts(Desk::limits()).await;
            parts.supervision.mode = mode;
            parts.outfit.checkpoints = true;
            Conversation::open(parts).await.unwrap()
        }
    };
    let conversation = recording(Mode::Plan).await;
    desk.run(&conversation).await;
    desk.run(&conversation).await;
    conversation.close(ExecutorFate::Keep).await;
    let conversation = recording(Mode::Act).await;
    say(&conversation, APPROVED).await;
    conversation.run().await.unwrap();
    settled(&conversation).await;
    assert_eq!(desk.file("made"), "work\n");
    let first = desk
        .events()
        .await
        .into_iter()
        .find(|event| event.source == Source::User);
    let first = first.unwrap().id;
    conversation.close(ExecutorFate::Keep).await;

    let conversation = recording(Mode::Plan).await;
    for what in [Rewind::Files, Rewind::Both] {
        let refused = conversation.rewind(first.clone(), what, Overwrite::Refuse).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("only plans"), "{refused}");
    }
    assert!(
        conversation
            .rerun()
            .await
            .unwrap_err()
            .to_string()
            .contains("only plans")
    );
    assert_eq!(desk.file("made"), "work\n");
    conversation.close(ExecutorFate::Keep).await;

    let conversation = recording(Mode::Act).await;
    let restored = conversation.rewind(first, Rewind::Both, Overwrite::Refuse).await;
    assert!(restored.unwrap().is_some());
    assert_eq!(desk.file("made"), "");
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), "the plan");
}
