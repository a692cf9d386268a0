//! A conversation in this process: what the examples `hello` and `own_tool` have in common.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use deft_engine::{
    Conversation, ExecutorFate, Extensions, Limits, Memory, Outfit, Parts, RealWorld, Safety, Supervision,
};
use deft_executor::Executor;
use deft_llm::ModelSettings;
use deft_store::{NewConversation, Options, Owner, SqliteStore, Store};
use deft_tools::{ToolContext, Toolbox};
use deft_types::{ConversationId, EventBody, EventId, Message, Role, Seq, text_of};
use deft_workspace::InProcessWorkspace;
use uuid::Uuid;

/// Runs a task in a directory, with a model that follows a script and with some tools that run beside the engine.
/// Gives back what the tools answered.
pub(crate) async fn run(
    directory: &Path,
    script: &str,
    host: Toolbox,
    task: &str,
) -> anyhow::Result<Vec<String>> {
    let work = directory.join("work");
    std::fs::create_dir_all(&work)?;
    let root = work.display().to_string();

    // The log of all conversations, and a new one in it.
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(directory.join("deft.db"), Options::default())?);
    let id = ConversationId(Uuid::new_v4());
    let new = NewConversation {
        id,
        created_at: SystemTime::now(),
        workspace: root.clone(),
        settings: serde_json::json!({}),
        owner: None,
    };
    store.create(new).await?;

    // The tools beside the files. Without a sandbox, so only for models that you trust; a script is one.
    let context = ToolContext {
        workspace: work,
        private_dir: directory.join("private"),
        env: vec![("PATH".to_owned(), std::env::var("PATH")?)],
    };
    let tools = Toolbox::standard(context)?;
    let specs = tools.specs();

    let parts = Parts {
        lease: store.acquire(id, &Owner::this_process()).await?, // nobody else writes to it meanwhile
        store: Arc::clone(&store),
        model: deft_llm::open(&format!("script:{script}"), &ModelSettings::default())?,
        model_name: "script".to_owned(),
        models: None,
        agents: None,
        workspace: Arc::new(InProcessWorkspace::new(Executor::new(tools, root.clone()))),
        directory: root,
        tools: specs,
        host,
        responses: BTreeMap::new(),
        world: Arc::new(RealWorld),
        limits: Limits {
            max_steps: 10,
            ..Limits::default()
        },
        safety: Safety::default(),
        memory: Memory::default(),
        outfit: Outfit::default(),
        extensions: Extensions::default(),
        supervision: Supervision::default(),
        external: None,
    };
    let conversation = Conversation::open(parts).await?;
    let message = Message::text(Role::User, task);
    conversation.send(EventId::from(Uuid::new_v4()), message).await?;
    conversation.run().await?;
    conversation.settled().await;
    conversation.close(ExecutorFate::End).await;

    // Everything that happened is in the log.
    let events = store.read(id, Seq::FIRST, 100).await?;
    let answers = events.iter().filter_map(|(_, event)| match &event.body {
        EventBody::Observation(result) => Some(text_of(&result.observation.content())),
        _ => None,
    });
    Ok(answers.collect())
}
