//! What Ollama says about one of its models.

use deft_types::Tokens;
use serde_json::Value;

/// The largest context that is asked for unless somebody wants more: an agent can work in it, and a larger one takes
/// more memory than most machines have.
const USUAL_CONTEXT: Tokens = Tokens(32_768);

/// What `/api/show` says about a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shown {
    /// How much the model was trained to read.
    trained: Option<Tokens>,
    /// The context size that its Modelfile sets: somebody's decision.
    chosen: Option<Tokens>,
    /// Ollama's words for what it can do; `None`: an older server, which does not say.
    abilities: Option<Vec<String>>,
}

impl Shown {
    pub(crate) fn read(answer: &Value) -> Self {
        let info = answer["model_info"].as_object();
        let trained = info.and_then(|info| {
            let key = info.keys().find(|key| key.ends_with(".context_length"))?;
            info[key].as_u64()
        });
        let chosen = answer["parameters"].as_str().and_then(|parameters| {
            let mut lines = parameters.lines().map(str::split_whitespace);
            let mut line = lines.find(|line| line.clone().next() == Some("num_ctx"))?;
            line.nth(1)?.parse().ok()
        });
        let words = |words: &Vec<Value>| {
            words
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        Self {
            trained: trained.map(Tokens),
            chosen: chosen.map(Tokens),
            abilities: answer["capabilities"].as_array().map(words),
        }
    }

    /// The context size to ask for; `None`: the server's own choice is right, or nothing is known. `wish` is the
    /// user's word.
    pub(crate) fn context_to_ask_for(&self, wish: Option<Tokens>) -> Option<Tokens> {
        match (wish, self.chosen) {
            (Some(wish), _) => Some(self.trained.map_or(wish, |trained| trained.min(wish))),
            (None, Some(_)) => None,
            (None, None) => self.trained.map(|trained| trained.min(USUAL_CONTEXT)),
        }
    }

    /// The context size that requests then have.
    pub(crate) fn context_in_force(&self, wish: Option<Tokens>) -> Option<Tokens> {
        self.context_to_ask_for(wish).or(self.chosen)
    }

    /// How much the model can read at most.
    pub(crate) fn context_window(&self) -> Option<Tokens> {
        self.chosen.or(self.trained)
    }

    /// Whether it has an ability, by Ollama's word for it; `None`: unknown.
    pub(crate) fn can(&self, ability: &str) -> Option<bool> {
        let abilities = self.abilities.as_ref()?;
        Some(abilities.iter().any(|known| known == ability))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_user_decides_then_the_modelfile_and_otherwise_the_model_up_to_a_limit() {
        let trained =
            |window: u64| json!({ "general.architecture": "llama", "llama.context_length": window });
        let small = Shown::read(&json!({ "model_info": trained(500), "parameters": "stop \"<|end|>\"" }));
        let large = Shown::read(&json!({ "model_info": trained(131_072) }));
        let chosen = Shown::read(
            &json!({ "model_info": trained(131_072), "parameters": "stop x\nnum_ctx        2000\n" }),
        );
        let unknown = Shown::read(&json!({}));
        // the user's wish, what is asked for, what is then in force
        let cases = [
            (&small, None, Some(500), Some(500)),
            (&small, Some(65_536), Some(500), Some(500)),
            (&large, None, Some(32_768), Some(32_768)),
            (&large, Some(65_536), Some(65_536), Some(65_536)),
            (&chosen, None, None, Some(2_000)),
            (&chosen, Some(65_536), Some(65_536), Some(65_536)),
            (&unknown, None, None, None),
            (&unknown, Some(65_536), Some(65_536), Some(65_536)),
        ];
        for (shown, wish, asked, in_force) in cases {
            let wish = wish.map(Tokens);
            assert_eq!(
                (shown.context_to_ask_for(wish), shown.context_in_force(wish)),
                (asked.map(Tokens), in_force.map(Tokens)),
                "{shown:?} {wish:?}"
            );
        }
    }

    #[test]
    fn an_older_server_says_nothing_of_abilities() {
        let shown = Shown::read(&json!({ "capabilities": ["completion", "tools"] }));
        assert_eq!(
            (shown.can("tools"), shown.can("vision")),
            (Some(true), Some(false))
        );
        assert_eq!(Shown::read(&json!({})).can("tools"), None);
    }
}
