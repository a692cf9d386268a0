//! Hooks: commands, questions and agents that people want to run when an agent does something.

mod said;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

pub(crate) use self::said::Said;
use crate::hook_agent::HookAgent;

/// Seconds that a command may take that does not say.
const DEFAULT_TIMEOUT: f64 = 60.0;
/// The most that one may ask for.
const MAX_TIMEOUT: f64 = 600.0;
/// Model calls of an agent that does not say, and the most that one may ask for.
const DEFAULT_STEPS: u32 = 3;
const MAX_STEPS: u32 = 20;
/// Hooks of one configuration.
const MAX_HOOKS: usize = 100;
/// Characters that make a matcher a pattern.
const PATTERN: &[char] = &[
    '.', '*', '+', '?', '|', '(', ')', '[', ']', '{', '}', '^', '$', '\\',
];

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookEvent {
    /// Before a tool is called; can refuse that.
    PreToolUse,
    /// After a tool has answered.
    PostToolUse,
    /// When the user has said something; can end the run.
    UserPromptSubmit,
    /// When a conversation that was loaded runs for the first time.
    SessionStart,
    /// When it is unloaded.
    SessionEnd,
    /// When the agent wants to end the run; can make it go on.
    Stop,
}

/// Every event with its two names.
const EVENTS: [(HookEvent, &str, &str); 6] = [
    (HookEvent::PreToolUse, "PreToolUse", "pre_tool_use"),
    (HookEvent::PostToolUse, "PostToolUse", "post_tool_use"),
    (
        HookEvent::UserPromptSubmit,
        "UserPromptSubmit",
        "user_prompt_submit",
    ),
    (HookEvent::SessionStart, "SessionStart", "session_start"),
    (HookEvent::SessionEnd, "SessionEnd", "session_end"),
    (HookEvent::Stop, "Stop", "stop"),
];

impl HookEvent {
    /// As it is written on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::Stop => "Stop",
        }
    }

    /// Whether a hook can refuse it; then none is asked after one that does.
    pub(crate) fn can_be_blocked(self) -> bool {
        match self {
            Self::PreToolUse | Self::UserPromptSubmit | Self::Stop => true,
            Self::PostToolUse | Self::SessionStart | Self::SessionEnd => false,
        }
    }
}

/// What runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A line for the shell, in the workspace.
    Command {
        /// The line.
        command: String,
        /// When it is ended.
        timeout: Duration,
        /// Whether anybody waits for it.
        waits: Waits,
    },
    /// A question to the model.
    Prompt {
        /// The question.
        prompt: String,
    },
    /// An agent that looks around in the workspace before it decides.
    Agent(HookAgent),
}

/// Whether a command is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It is, and it can refuse.
    Yes,
    /// Nobody waits; it can refuse nothing.
    No,
}

/// Hooks that run for the same tools.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    matcher: Matcher,
    hooks: Vec<Hook>,
}

#[derive(Clone, Debug)]
enum Matcher {
    All,
    Exactly(String),
    Pattern(Regex),
}

/// Which hooks run when.
#[derive(Clone, Debug, Default)]
pub struct HookConfig {
    groups: BTreeMap<HookEvent, Vec<Group>>,
}

/// Why hooks cannot be used. None of them runs.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHooks {
    /// It is not what hooks look like.
    #[error(
        "hooks are an object with a list for each event, such as {{\"PreToolUse\": [{{\"hooks\": […]}}]}}: {0}"
    )]
    Shape(String),
    /// There is no such event.
    #[error(
        "there is no event {0:?} for hooks; there are PreToolUse, PostToolUse, UserPromptSubmit, SessionStart, \
         SessionEnd and Stop"
    )]
    Event(String),
    /// The same event in two spellings.
    #[error("the hooks of {0} stand there twice, in two spellings; put them together")]
    Twice(&'static str),
    /// A kind of hook that is not built in.
    #[error("hooks of the type {0:?} cannot be run; use \"command\", \"prompt\" or \"agent\"")]
    Kind(String),
    /// The pattern of a matcher is none.
    #[error("{0:?} is no pattern for the names of tools")]
    Matcher(String),
    /// There are too many.
    #[error("there are more than {MAX_HOOKS} hooks; leave some out")]
    TooMany,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)] // a hook in the wrong place must not look as if it ran
struct WrittenGroup {
    #[serde(default)]
    matcher: Option<String>,
    #[serde(default)]
    hooks: Vec<WrittenHook>,
}

#[derive(Deserialize)]
struct WrittenHook {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    system_prompt: Option<String>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    max_iterations: Option<u32>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(rename = "async", alias = "async_", default)]
    is_async: bool,
}

impl HookConfig {
    /// Reads what people write, with or without `hooks` around it.
    pub fn parse(value: &Value) -> Result<Self, BadHooks> {
        let config = Self::with_blank(value)?;
        let mut hooks = config.groups.values().flatten().flat_map(|group| &group.hooks);
        match hooks.find_map(Hook::blank_field) {
            Some(field) => Err(missing(field)),
            None => Ok(config),
        }
    }

    /// The same of what nobody can be asked about, a file or what was accepted long ago: a hook whose command or
    /// question is blank is left out, so that the others still guard.
    pub fn parse_kept(value: &Value) -> Result<Self, BadHooks> {
        let mut config = Self::with_blank(value)?;
        for group in config.groups.values_mut().flatten() {
            group.hooks.retain(|hook| {
                let blank = hook.blank_field();
                if let Some(field) = blank {
                    tracing::warn!(field, "a hook that is blank was left out");
                }
                blank.is_none()
            });
        }
        Ok(config)
    }

    fn with_blank(value: &Value) -> Result<Self, BadHooks> {
        let no_object = || BadHooks::Shape("this is no object".to_owned());
        let fields = value.as_object().ok_or_else(no_object)?;
        let fields = match fields.get("hooks") {
            Some(inner) => inner.as_object().ok_or_else(no_object)?,
            None => fields,
        };
        let mut config = Self::default();
        for (name, groups) in fields {
            let known = EVENTS
                .iter()
                .find(|(_, pascal, snake)| name == pascal || name == snake);
            let (event, pascal, snake) = *known.ok_or_else(|| BadHooks::Event(name.clone()))?;
            if name == pascal && fields.contains_key(snake) {
                return Err(BadHooks::Twice(pascal));
            }
            if groups.is_null() {
                continue;
            }
            let shape = |error: serde_json::Error| BadHooks::Shape(error.to_string());
            let groups = Vec::<WrittenGroup>::deserialize(groups).map_err(shape)?;
            let groups = groups.into_iter().map(Group::read).collect::<Result<_, _>>()?;
            config.groups.insert(event, groups);
        }
        let count: usize = config
            .groups
            .values()
            .flatten()
            .map(|group| group.hooks.len())
            .sum();
        if count > MAX_HOOKS {
            return Err(BadHooks::TooMany);
        }
        Ok(config)
    }

    /// These, then the others.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        for (event, groups) in others.groups {
            self.groups.entry(event).or_default().extend(groups);
        }
        self
    }

    /// These, then those of the others that are not among them.
    #[must_use]
    pub(crate) fn and_new(self, mut others: Self) -> Self {
        for (event, groups) in &mut others.groups {
            let own = self.groups.get(event);
            groups.retain(|group| own.is_none_or(|own| !own.contains(group)));
        }
        self.and(others)
    }

    /// Whether there are any at all.
    pub fn is_empty(&self) -> bool {
        self.groups.values().flatten().all(|group| group.hooks.is_empty())
    }

    /// The hooks of an event, for a tool where it is about one.
    pub(crate) fn of(&self, event: HookEvent, tool: Option<&str>) -> Vec<Hook> {
        let groups = self.groups.get(&event).into_iter().flatten();
        let fitting = groups.filter(|group| tool.is_none_or(|tool| group.matcher.fits(tool)));
        fitting.flat_map(|group| group.hooks.iter().cloned()).collect()
    }
}

impl Group {
    fn read(written: WrittenGroup) -> Result<Self, BadHooks> {
        Ok(Self {
            matcher: Matcher::read(written.matcher.as_deref().unwrap_or_default().trim())?,
            hooks: written
                .hooks
                .into_iter()
                .map(Hook::read)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, Self::All) => true,
            (Self::Exactly(one), Self::Exactly(two)) => one == two,
            (Self::Pattern(one), Self::Pattern(two)) => one.as_str() == two.as_str(),
            (Self::All | Self::Exactly(_) | Self::Pattern(_), _) => false,
        }
    }
}

impl Matcher {
    fn read(text: &str) -> Result<Self, BadHooks> {
        if matches!(text, "" | "*") {
            return Ok(Self::All);
        }
        let enclosed = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        if enclosed.is_none() && !text.contains(PATTERN) {
            return Ok(Self::Exactly(text.to_owned()));
        }
        let pattern = Regex::new(&format!("^(?:{})$", enclosed.unwrap_or(text)));
        pattern
            .map(Self::Pattern)
            .map_err(|_| BadHooks::Matcher(text.to_owned()))
    }

    fn fits(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Exactly(name) => name == tool,
            Self::Pattern(pattern) => pattern.is_match(tool),
        }
    }
}

fn missing(field: &str) -> BadHooks {
    BadHooks::Shape(format!("a hook has no `{field}`"))
}

impl Hook {
    fn read(written: WrittenHook) -> Result<Self, BadHooks> {
        match written.kind.as_deref().unwrap_or("command") {
            "command" => {
                let seconds = written.timeout.unwrap_or(DEFAULT_TIMEOUT);
                let seconds = seconds.clamp(0.1, MAX_TIMEOUT);
                Ok(Self::Command {
                    command: written.command.ok_or_else(|| missing("command"))?,
                    timeout: Duration::from_secs_f64(seconds),
                    waits: if written.is_async { Waits::No } else { Waits::Yes },
                })
            }
            "prompt" => Ok(Self::Prompt {
                prompt: written.prompt.ok_or_else(|| missing("prompt"))?,
            }),
            "agent" => Ok(Self::Agent(HookAgent {
                instructions: written
                    .system_prompt
                    .or(written.prompt)
                    .ok_or_else(|| missing("system_prompt"))?,
                tools: written.tools,
                max_steps: written
                    .max_iterations
                    .unwrap_or(DEFAULT_STEPS)
                    .clamp(1, MAX_STEPS),
            })),
            other => Err(BadHooks::Kind(other.to_owned())),
        }
    }

    /// What says nothing, so that nothing would run.
    fn blank_field(&self) -> Option<&'static str> {
        match self {
            Self::Command { command, .. } if command.trim().is_empty() => Some("command"),
            Self::Prompt { prompt } if prompt.trim().is_empty() => Some("prompt"),
            Self::Command { .. } | Self::Prompt { .. } | Self::Agent(_) => None,
        }
    }

    /// What is told of it in the log.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Command { command, .. } => command,
            Self::Prompt { prompt } => prompt,
            Self::Agent(agent) => &agent.instructions,
        }
    }
}
