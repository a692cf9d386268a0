//! The Bedrock adapter over HTTP.

use std::sync::Arc;

use deft_llm::{
    AwsKeys, AwsRole, AwsSettings, FinishReason, Model, ModelError, ModelSettings, complete, open,
};
use deft_types::{Secret, Tokens};
use serde_json::{Value, json};

use crate::aimock::Aimock;
use crate::anthropic::{after, fixtures};
use crate::server::{Act, Server, head};
use crate::{KEY, refused, request, settings};

const CLAUDE: &str = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

fn signing(base_url: String) -> ModelSettings {
    ModelSettings {
        api_key: None,
        aws: Some(AwsSettings {
            region: Some("eu-west-1".to_owned()),
            keys: Some(AwsKeys {
                access_key_id: "AKIDEXAMPLE".to_owned(),
                secret_access_key: Secret::new(SECRET.to_owned()),
                session_token: Some(Secret::new("a-session".to_owned())),
            }),
            role: None,
        }),
        ..settings(base_url)
    }
}

fn model(server: &Server) -> Arc<dyn Model> {
    open(CLAUDE, &signing(server.base_url())).unwrap()
}

/// A frame of an event stream.
fn frame(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    let mut packed = Vec::new();
    for (name, value) in headers {
        packed.push(u8::try_from(name.len()).unwrap());
        packed.extend(name.as_bytes());
        packed.push(7);
        packed.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        packed.extend(value.as_bytes());
    }
    let payload = payload.to_string();
    let length = |length: usize| u32::try_from(length).unwrap().to_be_bytes();
    let mut frame = Vec::new();
    frame.extend(length(packed.len() + payload.len() + 16));
    frame.extend(length(packed.len()));
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame.extend(packed);
    frame.extend(payload.as_bytes());
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame
}

fn event(kind: &str, payload: &Value) -> Act {
    Act::SendBytes(frame(
        &[(":event-type", kind), (":message-type", "event")],
        payload,
    ))
}

fn said(text: &str) -> Act {
    event(
        "contentBlockDelta",
        &json!({ "contentBlockIndex": 0, "delta": { "text": text } }),
    )
}

fn stream_head() -> Act {
    Act::Send(head("application/vnd.amazon.eventstream"))
}

#[tokio::test]
async fn a_signed_request_is_answered_and_paid_for() {
    let server = Server::start(vec![
        stream_head(),
        event("messageStart", &json!({ "role": "assistant" })),
        said("Hel"),
        said("lo."),
        event("contentBlockStop", &json!({ "contentBlockIndex": 0 })),
        event("messageStop", &json!({ "stopReason": "end_turn" })),
        event(
            "metadata",
            &json!({ "usage": { "inputTokens": 100, "outputTokens": 10, "cacheReadInputTokens": 900 } }),
        ),
        // Whatever the connection does after the last event is of no interest.
        Act::Hold,
    ])
    .await;
    let reply = complete(&*model(&server), request(), |_| ()).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("Hello.", FinishReason::Stop)
    );
    assert_eq!(
        (reply.usage.prompt, reply.usage.cache_read),
        (Tokens(1_000), Tokens(900))
    );
    assert!(reply.cost > Some(deft_types::Money::ZERO));

    let sent = server.request().await;
    let path = "POST /v1/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream HTTP/1.1\r\n";
    assert!(sent.head.starts_with(path), "{}", sent.head);
    let headers = sent.head.to_lowercase();
    assert!(
        headers.contains("authorization: aws4-hmac-sha256 credential=akidexample/"),
        "{headers}"
    );
    assert!(
        headers
            .contains("/eu-west-1/bedrock/aws4_request, signedheaders=host;x-amz-date;x-amz-security-token"),
        "{headers}"
    );
    assert!(headers.contains("x-amz-security-token: a-session"), "{headers}");
    assert_eq!(sent.body["inferenceConfig"], json!({ "maxTokens": 16_384 }));
}

#[tokio::test]
async fn a_bearer_token_goes_instead_of_a_signature() {
    let server = Server::start(vec![refused("403 Forbidden", "", "{}")]).await;
    let both = ModelSettings {
        api_key: Some(Secret::new(KEY.to_owned())),
        ..signing(server.base_url())
    };
    let model = open(CLAUDE, &both).unwrap();
    assert!(complete(&*model, request(), |_| ()).await.is_err());
    let headers = server.request().await.head.to_lowercase();
    assert!(
        headers.contains(&format!("authorization: bearer {KEY}")),
        "{headers}"
    );
    assert!(!headers.contains("x-amz-date"), "{headers}");
}

#[tokio::test]
async fn refusals_are_told_apart_and_show_no_secret() {
    let refusal = async |status: &str, message: &str| {
        let body = json!({ "message": message }).to_string();
        let server = Server::start(vec![refused(status, "", &body)]).await;
        complete(&*model(&server), request(), |_| ()).await.unwrap_err()
    };
    let wrong = refusal(
        "403 Forbidden",
        "The security token included in the request is invalid.",
    )
    .await;
    assert!(matches!(wrong, ModelError::Authentication { .. }), "{wrong:?}");
    let denied = refusal(
        "403 Forbidden",
        &format!("You don't have access to the model {SECRET}"),
    )
    .await;
    assert!(matches!(denied, ModelError::Permission { .. }), "{denied:?}");
    assert!(!format!("{denied:?}").contains(SECRET), "{denied:?}");
    let limit = refusal("429 Too Many Requests", "Too many requests").await;
    assert!(matches!(limit, ModelError::RateLimit { .. }), "{limit:?}");
    let long = refusal("400 Bad Request", "Input is too long for requested model.").await;
    assert!(
        matches!(long, ModelError::ContextWindowExceeded { .. }),
        "{long:?}"
    );
    let failed = refusal("424 Failed Dependency", "The model failed.").await;
    assert!(matches!(failed, ModelError::Unavailable { .. }), "{failed:?}");
}

#[tokio::test]
async fn an_exception_within_a_good_answer_is_an_error() {
    let exception = frame(
        &[
            (":message-type", "exception"),
            (":exception-type", "throttlingException"),
        ],
        &json!({ "message": "Too many tokens, please wait." }),
    );
    let server = Server::start(vec![stream_head(), said("Hal"), Act::SendBytes(exception)]).await;
    let error = complete(&*model(&server), request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::RateLimit { .. }), "{error:?}");
}

#[tokio::test]
async fn a_damaged_answer_is_noticed() {
    let mut damaged = frame(&[(":event-type", "contentBlockDelta")], &json!({}));
    damaged[20] ^= 1;
    let server = Server::start(vec![stream_head(), Act::SendBytes(damaged)]).await;
    let error = complete(&*model(&server), request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::Protocol { .. }), "{error:?}");
}

#[tokio::test]
async fn an_independent_server_is_understood_and_understands() {
    let Some(aimock) = Aimock::start(&fixtures()) else {
        return;
    };
    let model = open(CLAUDE, &signing(aimock.url().to_owned())).unwrap();
    let reply = complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(reply.text, "I will look.");
    assert_eq!(
        reply.reasoning.as_deref(),
        Some("They want to know what is there.")
    );
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    let arguments: Value = serde_json::from_str(&reply.tool_calls[0].arguments).unwrap();
    assert_eq!(arguments, json!({ "command": "ls" }));

    let last = complete(&*model, after(&reply, &request()), |_| ())
        .await
        .unwrap();
    assert_eq!(
        (last.text.as_str(), last.finish),
        ("There is a.txt.", FinishReason::Stop)
    );
}

/// What AWS answers who may take on a role.
fn keys_until(end: &str) -> Act {
    let body = format!(
        "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>AKROLE</AccessKeyId>\
         <SecretAccessKey>role/secret</SecretAccessKey><SessionToken>role-token</SessionToken>\
         <Expiration>{end}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
    );
    let length = body.len();
    Act::Send(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

fn as_role(models: &Server, tokens: &Server) -> Arc<dyn Model> {
    let mut settings = signing(models.base_url());
    let endpoint = tokens.base_url();
    let variable = |name: &str| (name == "AWS_ENDPOINT_URL_STS").then(|| endpoint.clone());
    let role = AwsRole::new("arn:aws:iam::1:role/build".to_owned(), None, variable);
    settings.aws.as_mut().unwrap().role = Some(role);
    open(CLAUDE, &settings).unwrap()
}

#[tokio::test]
async fn a_role_is_taken_on_once_for_as_long_as_its_keys_last() {
    for (end, askings) in [("2999-01-01T00:00:00Z", 1), ("2001-01-01T00:00:00Z", 2)] {
        let models = Server::start(vec![
            stream_head(),
            event("messageStart", &json!({ "role": "assistant" })),
            said("Hello."),
            event("contentBlockStop", &json!({ "contentBlockIndex": 0 })),
            event("messageStop", &json!({ "stopReason": "end_turn" })),
            event(
                "metadata",
                &json!({ "usage": { "inputTokens": 1, "outputTokens": 1 } }),
            ),
        ])
        .await;
        let tokens = Server::start(vec![keys_until(end)]).await;
        let model = as_role(&models, &tokens);
        for _ in 0..2 {
            let reply = complete(&*model, request(), |_| ()).await.unwrap();
            assert_eq!(reply.text, "Hello.");
            let headers = models.request().await.head.to_lowercase();
            assert!(headers.contains("credential=akrole/"), "{headers}");
            assert!(headers.contains("x-amz-security-token: role-token"), "{headers}");
        }
        assert_eq!(tokens.connections(), askings, "{end}");
        let asked = tokens.request().await;
        let headers = asked.head.to_lowercase();
        assert!(headers.contains("credential=akidexample/"), "{headers}");
        assert!(headers.contains("/eu-west-1/sts/aws4_request"), "{headers}");
    }
}

#[tokio::test]
async fn a_role_that_may_not_be_taken_on_is_told_and_nothing_is_asked() {
    let models = Server::start(vec![Act::Hold]).await;
    let why = "<ErrorResponse><Error><Message>User is not authorized</Message></Error></ErrorResponse>";
    let tokens = Server::start(vec![refused("403 Forbidden", "", why)]).await;
    let model = as_role(&models, &tokens);
    let error = complete(&*model, request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::Authentication { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("role/build") && text.contains("User is not authorized"),
        "{text}"
    );
    assert_eq!(models.connections(), 0);
}

#[tokio::test]
async fn keys_for_a_role_are_asked_for_nowhere_but_at_aws_whatever_is_called_a_region() {
    let mut settings = signing("http://127.0.0.1:9".to_owned());
    let aws = settings.aws.as_mut().unwrap();
    aws.region = Some("x@10.0.0.5:8443/?".to_owned());
    aws.role = Some(AwsRole::new("arn:aws:iam::1:role/build".to_owned(), None, |_| {
        None
    }));
    // The name of the model has a region of its own, so nobody else looks at this one.
    let Err(error) = open("bedrock/us-east-1/anthropic.claude-x", &settings) else {
        panic!("it is no region");
    };
    assert!(error.to_string().contains("is no region of AWS"), "{error}");
}

#[tokio::test]
async fn a_failure_of_the_moment_does_not_say_that_a_role_is_refused() {
    let models = Server::start(vec![Act::Hold]).await;
    let tokens = Server::start(vec![refused("503 Service Unavailable", "", "busy")]).await;
    let error = complete(&*as_role(&models, &tokens), request(), |_| ())
        .await
        .unwrap_err();
    assert!(matches!(error, ModelError::Unavailable { .. }), "{error}");
}
