//! Agents that are given tasks in a simulation: conversations like the others, in the process of the one above them.

use std::sync::Arc;

use deft_engine::{BegunTask, Order, SubAgent, SubAgentKind, SubAgents, Supervision, usage_of_task};
use deft_types::ConversationId;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::cast::{Cast, limits};
use super::executor::Place;
use super::follower::rebuilt;
use super::ponder::tools;
use super::scene::Life;

/// See the module.
pub(crate) struct SimulatedAgents {
    pub(super) cast: Arc<Cast>,
    pub(super) life: Arc<Life>,
}

impl SimulatedAgents {
    /// Where a task is worked on, and its name.
    fn place(&self, resume: Option<&str>) -> Result<(String, Arc<Place>), String> {
        let Cast {
            scene, logs, tasks, ..
        } = &*self.cast;
        let mut tasks = tasks.lock().unwrap();
        if let Some(task) = resume {
            let known = tasks.get(task).cloned();
            return known
                .map(|place| (task.to_owned(), place))
                .ok_or_else(|| format!("there is no task {task}"));
        }
        let id = ConversationId(scene.dice.uuid());
        logs.create(id, Value::Null).unwrap();
        let place = Arc::new(Place::new(scene.clone(), logs.clone(), id, tools()));
        let task = format!("task_{}", tasks.len());
        tasks.insert(task.clone(), place.clone());
        Ok((task, place))
    }
}

impl SubAgents for SimulatedAgents {
    fn kinds(&self) -> Vec<SubAgentKind> {
        vec![SubAgentKind {
            name: "general-purpose".to_owned(),
            description: "does it".to_owned(),
        }]
    }

    fn begun(&self) -> BoxFuture<'_, Result<Vec<BegunTask>, String>> {
        async {
            if self.cast.scene.fault(20) {
                return Err("their logs cannot be read".to_owned());
            }
            let tasks = self.cast.tasks.lock().unwrap().clone();
            let mut begun = Vec::new();
            for (task, place) in tasks {
                let logs = &self.cast.logs;
                let events = logs.look(place.conversation, |log| log.events.len()).unwrap();
                let state = rebuilt(logs, place.conversation, events).await;
                begun.push(BegunTask {
                    usage_id: usage_of_task(&task),
                    stats: state.stats,
                    told: state.last_user_message_id,
                });
            }
            Ok(begun)
        }
        .boxed()
    }

    fn open<'a>(&'a self, order: Order<'a>) -> BoxFuture<'a, Result<SubAgent, String>> {
        async move {
            let (task_id, place) = self.place(order.resume)?;
            self.cast.scene.tell(format!("an agent gets {task_id}"));
            let life = Arc::new(self.life.beside(limits()));
            let supervision = Supervision {
                above: Some(order.above.clone()),
                ..Supervision::default()
            };
            let opened = self.cast.open_with(&place, &life, None, supervision).await;
            Ok(SubAgent {
                task_id,
                conversation: opened.map_err(|error| error.to_string())?,
                own_branch: None,
            })
        }
        .boxed()
    }
}
