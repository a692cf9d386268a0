//! What the user has set for AWS.

use deft_types::Secret;

/// Where in AWS a model is, and who asks for it.
#[derive(Clone, Debug, Default)]
pub struct AwsSettings {
    /// The region, such as `us-east-1`.
    pub region: Option<String>,
    /// What requests are signed with, unless a bearer token is the model's key.
    pub keys: Option<AwsKeys>,
    /// Who is to ask in the place of the keys' owner, who may let them.
    pub role: Option<AwsRole>,
}

/// A role that the owner of keys takes on.
#[derive(Clone, Debug)]
pub struct AwsRole {
    /// Its ARN.
    pub arn: String,
    /// What stands for us in the logs of AWS.
    pub session: String,
    /// Where keys for it are asked for, if not at AWS's own address.
    pub endpoint: Option<String>,
}

impl AwsRole {
    /// A role by its ARN. The variables that AWS's own tools read say where keys for it are asked for.
    pub fn new(arn: String, session: Option<String>, variable: impl Fn(&str) -> Option<String>) -> Self {
        let endpoint = variable("AWS_ENDPOINT_URL_STS").or_else(|| variable("AWS_ENDPOINT_URL"));
        Self {
            arn,
            session: session.unwrap_or_else(|| "deft".to_owned()),
            endpoint: endpoint.filter(|endpoint| !endpoint.is_empty()),
        }
    }
}

/// An access key.
#[derive(Clone, Debug)]
pub struct AwsKeys {
    /// Its name.
    pub access_key_id: String,
    /// The key.
    pub secret_access_key: Secret<String>,
    /// What a key for a limited time comes with.
    pub session_token: Option<Secret<String>>,
}

impl AwsSettings {
    /// Reads the variables that AWS's own tools read.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| {
            let text = variable(name)?.trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let keys = set("AWS_ACCESS_KEY_ID").zip(set("AWS_SECRET_ACCESS_KEY")).map(
            |(access_key_id, secret_access_key)| AwsKeys {
                access_key_id,
                secret_access_key: Secret::new(secret_access_key),
                session_token: set("AWS_SESSION_TOKEN").map(Secret::new),
            },
        );
        Self {
            region: set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION")),
            keys,
            role: None,
        }
    }

    /// What must never be shown.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = Secret<String>> {
        self.keys.iter().flat_map(|keys| {
            std::iter::once(keys.secret_access_key.clone()).chain(keys.session_token.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_aws_are_read_and_half_a_key_is_none() {
        let read = |set: &'static [(&str, &str)]| {
            AwsSettings::from_variables(|name| {
                set.iter()
                    .find_map(|(own, value)| (*own == name).then(|| (*value).to_owned()))
            })
        };
        let whole = read(&[
            ("AWS_DEFAULT_REGION", "eu-west-1"),
            ("AWS_REGION", ""),
            ("AWS_ACCESS_KEY_ID", "AKID"),
            ("AWS_SECRET_ACCESS_KEY", "hush\n"),
            ("AWS_SESSION_TOKEN", "token"),
        ]);
        assert_eq!(whole.region.as_deref(), Some("eu-west-1"));
        let keys = whole.keys.as_ref().unwrap();
        assert_eq!(keys.access_key_id, "AKID");
        assert_eq!(keys.secret_access_key.expose(), "hush");
        assert_eq!(whole.secrets().count(), 2);
        assert!(read(&[("AWS_ACCESS_KEY_ID", "AKID")]).keys.is_none());
    }
}
