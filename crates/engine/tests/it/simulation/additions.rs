//! What people have added to the agent of a simulation: hooks and skills.

use deft_engine::{Extensions, HookConfig, OfProject, SkillSources};
use deft_skills::{Origin, Skill};
use serde_json::json;

use super::scene::Dice;
use super::work::GUARD;

/// None, some or all of them; whether there are hooks among them.
pub(super) fn additions(dice: &Dice) -> (Extensions, bool) {
    let project = if dice.one_in(3) {
        OfProject::Used
    } else {
        OfProject::LeftOut
    };
    let skills = SkillSources {
        project,
        others: vec![skill()],
        ..SkillSources::default()
    };
    let has_hooks = dice.one_in(3);
    let additions = Extensions {
        hooks: if has_hooks { hooks() } else { HookConfig::default() },
        project_hooks: project,
        skills: dice.one_in(2).then_some(skills),
        ..Extensions::default()
    };
    (additions, has_hooks)
}

/// Words bring it in, and it runs a command when it is called.
fn skill() -> Skill {
    let sent = json!({"name": "ship", "description": "ships", "content": "Tag !`git describe` first.",
        "is_agentskills_format": true, "trigger": {"type": "keyword", "keywords": ["message"]}});
    Skill {
        origin: Origin::User,
        ..deft_skills::sent(&sent).unwrap()
    }
}

fn hooks() -> HookConfig {
    let command = |command: &str| json!([{"hooks": [{"command": command, "timeout": 60}]}]);
    let written = json!({
        "PreToolUse": command(GUARD),
        "PostToolUse": [{"matcher": "act", "hooks": [{"command": "note", "async": true}]}],
        "UserPromptSubmit": command("hear"),
        "SessionStart": command("begin"),
        "SessionEnd": command("end"),
        "Stop": [{"hooks": [{"command": "enough"}, {"type": "prompt", "prompt": "Is it enough?"}]}],
    });
    HookConfig::parse(&written).unwrap()
}
