//! Who offers models.

use crate::LocalKind;
use crate::images::MAX_IMAGE_BYTES;

/// One provider of models.
pub(crate) struct Provider {
    /// What stands before the slash of a model's name.
    pub(crate) name: &'static str,
    /// Where its server is, unless the settings say otherwise; empty: only they can say.
    pub(crate) base_url: &'static str,
    /// The environment variable that its own tools read the key from; `None`: it takes no key.
    pub(crate) key_variable: Option<&'static str>,
    /// What its server speaks.
    pub(crate) wire: Wire,
}

/// A wire format.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wire {
    /// The OpenAI APIs: chat in one of its dialects, or Responses where the model is asked by that.
    Chat(Dialect),
    /// The Anthropic Messages API.
    Anthropic,
    /// The Converse API of AWS Bedrock.
    Bedrock,
    /// The Gemini API of Google.
    Gemini,
    /// Ollama's own API.
    Ollama,
}

/// Which optional fields a server takes. A few refuse requests with fields they do not know.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Dialect {
    /// All of OpenAI's: `max_completion_tokens`, `prompt_cache_key`, `stream_options`.
    OpenAi,
    /// As OpenAI; a proxy that hides signatures in the ids of calls, to find them there again.
    Proxy,
    /// The older `max_tokens`, and `stream_options`.
    Compatible,
    /// As compatible; `cache_control` at the top makes it mark the cache where a model wants marks.
    OpenRouter,
    /// As compatible, unless the model reasons; the key has a header of its own, the model is part of the address.
    Azure,
    /// `max_tokens` alone; usage is reported unasked.
    Strict,
    /// As compatible; a server of one's own that can be asked about its model. The templates of many models fail
    /// where two messages of the user follow each other.
    Local(LocalKind),
}

/// Which ids of calls a server takes.
#[derive(Clone, Copy)]
pub(crate) struct CallIds {
    pub(crate) min_bytes: usize,
    pub(crate) max_bytes: usize,
    pub(crate) charset: Charset,
}

/// What an id is made of.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Charset {
    Any,
    /// Letters, digits, `_` and `-`.
    Words,
    /// Letters and digits.
    Alphanumeric,
}

impl CallIds {
    /// Anthropic's and Bedrock's.
    pub(crate) const WORDS: Self = Self::new(1, 64, Charset::Words);
    /// Those of the Responses API, and of servers that are not known to refuse any.
    pub(crate) const ANY: Self = Self::new(1, 64, Charset::Any);
    /// Those of OpenAI's chat API.
    const SHORT: Self = Self::new(1, 40, Charset::Any);
    /// Mistral's.
    const NINE: Self = Self::new(9, 9, Charset::Alphanumeric);

    const fn new(min_bytes: usize, max_bytes: usize, charset: Charset) -> Self {
        Self {
            min_bytes,
            max_bytes,
            charset,
        }
    }
}

/// The largest image where Claude may read it: 5 MB of base64.
const MAX_CLAUDE_IMAGE_BYTES: usize = 3_750_000;

impl Wire {
    /// The largest image that its servers take.
    pub(crate) fn max_image_bytes(self) -> usize {
        match self {
            Self::Anthropic | Self::Bedrock | Self::Chat(Dialect::OpenRouter | Dialect::Proxy) => {
                MAX_CLAUDE_IMAGE_BYTES
            }
            Self::Chat(
                Dialect::OpenAi | Dialect::Compatible | Dialect::Azure | Dialect::Strict | Dialect::Local(_),
            )
            | Self::Gemini
            | Self::Ollama => MAX_IMAGE_BYTES,
        }
    }
}

impl Dialect {
    /// Which ids of calls go back to the server; `None`: all, with the signatures in them.
    pub(crate) fn call_ids(self) -> Option<CallIds> {
        match self {
            Self::OpenAi | Self::Azure | Self::OpenRouter => Some(CallIds::SHORT),
            Self::Compatible | Self::Local(_) => Some(CallIds::ANY),
            Self::Strict => Some(CallIds::NINE),
            Self::Proxy => None,
        }
    }
}

/// All providers, the one to suggest first at the top.
#[rustfmt::skip]
pub(crate) const PROVIDERS: &[Provider] = &[
    provider("openai", "https://api.openai.com/v1", Some("OPENAI_API_KEY"), Dialect::OpenAi),
    native("anthropic", "https://api.anthropic.com", Some("ANTHROPIC_API_KEY"), Wire::Anthropic),
    native("gemini", "https://generativelanguage.googleapis.com/v1beta", Some("GEMINI_API_KEY"), Wire::Gemini),
    native("bedrock", "https://bedrock-runtime.{region}.amazonaws.com", Some("AWS_BEARER_TOKEN_BEDROCK"), Wire::Bedrock),
    provider("openrouter", "https://openrouter.ai/api/v1", Some("OPENROUTER_API_KEY"), Dialect::OpenRouter),
    provider("azure", "", Some("AZURE_API_KEY"), Dialect::Azure),
    provider("deepseek", "https://api.deepseek.com/v1", Some("DEEPSEEK_API_KEY"), Dialect::Compatible),
    provider("mistral", "https://api.mistral.ai/v1", Some("MISTRAL_API_KEY"), Dialect::Strict),
    provider("groq", "https://api.groq.com/openai/v1", Some("GROQ_API_KEY"), Dialect::Compatible),
    provider("xai", "https://api.x.ai/v1", Some("XAI_API_KEY"), Dialect::Compatible),
    provider("together_ai", "https://api.together.xyz/v1", Some("TOGETHERAI_API_KEY"), Dialect::Compatible),
    provider("fireworks_ai", "https://api.fireworks.ai/inference/v1", Some("FIREWORKS_AI_API_KEY"), Dialect::Compatible),
    provider("moonshot", "https://api.moonshot.ai/v1", Some("MOONSHOT_API_KEY"), Dialect::Compatible),
    native("ollama", "http://localhost:11434", None, Wire::Ollama),
    provider("lm_studio", "http://localhost:1234/v1", None, Dialect::Local(LocalKind::LmStudio)),
    provider("vllm", "http://localhost:8000/v1", None, Dialect::Local(LocalKind::Vllm)),
    provider("hosted_vllm", "http://localhost:8000/v1", None, Dialect::Local(LocalKind::Vllm)),
    provider("llamacpp", "http://localhost:8080/v1", None, Dialect::Local(LocalKind::LlamaCpp)),
    provider("litellm_proxy", "http://localhost:4000/v1", None, Dialect::Proxy),
];

const fn provider(
    name: &'static str,
    base_url: &'static str,
    key_variable: Option<&'static str>,
    dialect: Dialect,
) -> Provider {
    native(name, base_url, key_variable, Wire::Chat(dialect))
}

const fn native(
    name: &'static str,
    base_url: &'static str,
    key_variable: Option<&'static str>,
    wire: Wire,
) -> Provider {
    Provider {
        name,
        base_url,
        key_variable,
        wire,
    }
}

impl Provider {
    /// Whether it is a server that people run themselves. A proxy is one too, but its models are others'.
    pub(crate) fn is_local(&self) -> bool {
        self.base_url.starts_with("http://localhost") && self.name != "litellm_proxy"
    }

    /// The provider of that name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }
}
