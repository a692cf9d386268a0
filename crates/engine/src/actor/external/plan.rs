//! What such an agent means to do, as a list of tasks: people see it as they see those of our own agent.

use deft_acp::PlanEntry;
use deft_types::{
    Action, ActionEvent, Content, EventId, Extra, Observation, ObservationEvent, SecurityRisk, Source,
    TaskItem, TaskStatus, TaskTrackerAction, TaskTrackerCommand, TaskTrackerObservation, ToolCall,
    ToolCallOrigin,
};
use serde_json::json;

use super::Turn;
use crate::turn::Draft;
use crate::world::World;

const TOOL: &str = "task_tracker";

impl Turn {
    /// The events of a plan, if it is another than the one before: as if the agent had called our own tool.
    pub(super) fn planned(&mut self, plan: Vec<PlanEntry>, world: &dyn World) -> Vec<Draft> {
        if plan == self.plan {
            return Vec::new();
        }
        let tasks: Vec<_> = plan.iter().map(task).collect();
        self.plan = plan;
        let (id, call) = (EventId::from(world.new_id()), world.new_id().to_string());
        let action = ActionEvent {
            thought: Vec::new(),
            reasoning_content: None,
            thinking_blocks: Vec::new(),
            responses_reasoning_item: None,
            tool_name: TOOL.to_owned(),
            tool_call_id: call.clone(),
            tool_call: ToolCall {
                id: call.clone(),
                responses_item_id: None,
                name: TOOL.to_owned(),
                arguments: json!({"command": "plan", "task_list": tasks}).to_string(),
                origin: ToolCallOrigin::Completion,
                extra: Extra::new(),
            },
            action: Some(Action::TaskTracker(Box::new(TaskTrackerAction {
                command: TaskTrackerCommand::Plan,
                task_list: tasks.clone(),
                ..TaskTrackerAction::default()
            }))),
            llm_response_id: world.new_id().to_string(),
            security_risk: SecurityRisk::Unknown,
            critic_result: None,
            summary: None,
            extra: Extra::new(),
        };
        let observation = ObservationEvent {
            tool_name: TOOL.to_owned(),
            tool_call_id: call,
            action_id: id.clone(),
            observation: Observation::TaskTracker(Box::new(TaskTrackerObservation {
                content: vec![Content::text(format!("The list has {} tasks now.", tasks.len()))],
                command: TaskTrackerCommand::Plan,
                task_list: tasks,
                ..TaskTrackerObservation::default()
            })),
            extended_content: Vec::new(),
            extra: Extra::new(),
        };
        vec![
            Draft::new(Source::Agent, action).with_id(id),
            Draft::new(Source::Environment, observation),
        ]
    }
}

fn task(entry: &PlanEntry) -> TaskItem {
    TaskItem {
        title: entry.content.clone(),
        status: match entry.status.as_str() {
            "in_progress" => TaskStatus::InProgress,
            "completed" => TaskStatus::Done,
            _ => TaskStatus::Todo,
        },
        ..TaskItem::default()
    }
}
