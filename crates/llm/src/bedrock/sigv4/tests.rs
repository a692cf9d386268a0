use super::*;

const DATE: &str = "20150830T123600Z";

fn signer(service: &'static str) -> Signer {
    Signer {
        access_key_id: "AKIDEXAMPLE".to_owned(),
        secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned()),
        region: "us-east-1".to_owned(),
        service,
    }
}

fn signature(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> String {
    let authorization =
        signer("service").authorization(method, &Url::parse(url).unwrap(), DATE, headers, body.as_bytes());
    let (_, signature) = authorization.split_once("Signature=").unwrap();
    signature.to_owned()
}

/// The cases of AWS's own test suite, by their names there.
#[test]
fn signatures_are_those_of_the_published_test_suite() {
    let plain = [("host", "example.amazonaws.com"), ("x-amz-date", DATE)];
    let form = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("host", "example.amazonaws.com"),
        ("x-amz-date", DATE),
    ];
    let cases: [(&str, &str, &str, &[_], &str, &str); 5] = [
        (
            "get-vanilla",
            "GET",
            "https://example.amazonaws.com/",
            &plain,
            "",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "post-vanilla",
            "POST",
            "https://example.amazonaws.com/",
            &plain,
            "",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            "post-vanilla-query",
            "POST",
            "https://example.amazonaws.com/?Param1=value1",
            &plain,
            "",
            "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
        ),
        (
            "get-vanilla-query-order-key-case",
            "GET",
            "https://example.amazonaws.com/?Param2=value2&Param1=value1",
            &plain,
            "",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "post-x-www-form-urlencoded",
            "POST",
            "https://example.amazonaws.com/",
            &form,
            "Param1=value1",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ];
    for (name, method, url, headers, body, expected) in cases {
        assert_eq!(signature(method, url, headers, body), expected, "{name}");
    }
}

/// The worked example of AWS's guide.
#[test]
fn a_whole_header_is_that_of_the_published_example() {
    let url = Url::parse("https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08").unwrap();
    let headers = [
        ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
        ("host", "iam.amazonaws.com"),
        ("x-amz-date", DATE),
    ];
    assert_eq!(
        signer("iam").authorization("GET", &url, DATE, &headers, b""),
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date, \
         Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    );
}

/// As botocore 1.44.0 signs it: the path is encoded once more, and the session's token is covered.
#[test]
fn a_request_to_bedrock_is_signed_as_by_the_sdk_of_aws() {
    let host = "bedrock-runtime.us-east-1.amazonaws.com";
    let model = encode("us.anthropic.claude-sonnet-4-5-20250929-v1:0");
    let url = Url::parse(&format!("https://{host}/model/{model}/converse-stream")).unwrap();
    let headers = [
        ("host", host),
        ("x-amz-date", DATE),
        ("x-amz-security-token", "SESSION/TOKEN=="),
    ];
    let authorization = signer("bedrock").authorization("POST", &url, DATE, &headers, b"{\"messages\":[]}");
    assert_eq!(
        authorization,
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/bedrock/aws4_request, \
         SignedHeaders=host;x-amz-date;x-amz-security-token, \
         Signature=115ebaa3ec6273e2b31640459bed93d7175224f43124d0a37abf8068c1816660"
    );
}

#[test]
fn a_moment_is_written_in_utc() {
    let moment = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_440_938_160);
    assert_eq!(amz_date(moment), DATE);
}
