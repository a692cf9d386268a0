//! Agents that only plan.

use deft_engine::{APPROVED, Conversation, ExecutorFate, Mode};
use deft_types::{EventBody, Role, Status};

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
