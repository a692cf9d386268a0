//! Counting tokens: by the server, by a tokenizer, by an estimate.

use deft_llm::{AwsKeys, AwsSettings, CountSource, TokenCount};

use super::routes::{Answers, Routes};
use super::*;

async fn count(name: &str, path: &str, answers: Answers) -> (TokenCount, Routes) {
    let server = Routes::start(answers).await;
    let settings = ModelSettings {
        aws: Some(AwsSettings {
            region: Some("eu-west-1".to_owned()),
            role: None,
            keys: Some(AwsKeys {
                access_key_id: "id".to_owned(),
                secret_access_key: Secret::new("hush-hush".to_owned()),
                session_token: None,
            }),
        }),
        ..settings(format!("{}{path}", server.address))
    };
    let count = open(name, &settings).unwrap().count(request()).await;
    (count, server)
}

fn server_says(tokens: u64) -> TokenCount {
    TokenCount {
        tokens: Tokens(tokens),
        source: CountSource::Server,
    }
}

#[tokio::test]
async fn servers_that_count_are_asked() {
    const ANTHROPIC: &str = "POST /v1/messages/count_tokens";
    const GEMINI: &str = "POST /v1beta/models/gemini-2.5-pro:countTokens";
    const BEDROCK: &str = "POST /model/amazon.nova-pro-v1%3A0/count-tokens";
    const RESPONSES: &str = "POST /v1/responses/input_tokens";
    const VLLM: &str = "POST /tokenize";
    let cases = [
        (
            "anthropic/claude-sonnet-4-5",
            "",
            ANTHROPIC,
            json!({ "input_tokens": 11 }),
        ),
        ("gemini/gemini-2.5-pro", "", GEMINI, json!({ "totalTokens": 11 })),
        (
            "bedrock/amazon.nova-pro-v1:0",
            "",
            BEDROCK,
            json!({ "inputTokens": 11 }),
        ),
        ("openai/gpt-5", "/v1", RESPONSES, json!({ "input_tokens": 11 })),
        ("vllm/m", "/v1", VLLM, json!({ "count": 11, "tokens": [] })),
    ];
    for (name, path, line, answer) in cases {
        let (count, server) = count(name, path, vec![(line, 200, answer.to_string())]).await;
        assert_eq!(count, server_says(11), "{name}");
        let body = server.bodies(line).remove(0).to_string();
        assert!(body.contains("Hello?") && body.contains("terminal"), "{body}");
        for refused in ["\"stream\"", "max_", "inferenceConfig"] {
            assert!(!body.contains(refused), "{name} {body}");
        }
    }
}

#[tokio::test]
async fn llama_cpp_counts_what_its_template_makes_of_the_messages() {
    let answers = vec![
        (
            "POST /apply-template",
            200,
            json!({ "prompt": "<user>Hello?" }).to_string(),
        ),
        ("POST /tokenize", 200, json!({ "tokens": [1, 2, 3] }).to_string()),
    ];
    let (count, server) = count("llamacpp/m", "/v1", answers).await;
    assert_eq!(count, server_says(3));
    assert_eq!(server.bodies("POST /tokenize")[0]["content"], "<user>Hello?");
}

#[tokio::test]
async fn where_the_server_does_not_count_it_is_never_zero() {
    let zero = json!({ "input_tokens": 0 }).to_string();
    let cases: [(&str, Answers, CountSource); 5] = [
        ("openai/gpt-4o", vec![], CountSource::Tokenizer),
        (
            "openai/gpt-5",
            vec![("POST /v1/responses/input_tokens", 500, String::new())],
            CountSource::Tokenizer,
        ),
        (
            "anthropic/claude-sonnet-4-5",
            vec![("POST /v1/messages/count_tokens", 200, zero)],
            CountSource::Estimate,
        ),
        ("mistral/mistral-large-latest", vec![], CountSource::Estimate),
        ("ollama/qwen3:8b", vec![], CountSource::Estimate),
    ];
    for (name, answers, source) in cases {
        let (count, _server) = count(name, "/v1", answers).await;
        assert_eq!(count.source, source, "{name}");
        assert!((10..60).contains(&count.tokens.0), "{name} {count:?}");
    }
    let demo = open("demo", &ModelSettings::default()).unwrap();
    assert_eq!(demo.count(request()).await.source, CountSource::Estimate);
}
