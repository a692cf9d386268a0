//! Unions tagged by a `kind` field, which keep kinds and fields they do not know.

use serde::Serialize;
use serde_json::{Map, Value};

/// Fields that came with a value and that we have no name for. They go out again as they came.
pub type Extra = Map<String, Value>;

/// A value of a kind we do not know, or whose fields are not what we expect: kept as it came.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unknown {
    /// Everything but the tag.
    #[serde(flatten)]
    pub fields: Extra,
    /// The tag.
    #[serde(skip)]
    pub kind: String,
}

/// Writes `body` with its tag behind it, where the reference has it too.
#[derive(Serialize)]
pub(crate) struct Tagged<'a, T> {
    #[serde(flatten)]
    pub(crate) body: &'a T,
    pub(crate) kind: &'a str,
}

/// Declares an enum over structs of the same name as their `kind`, and its JSON. `with` names a macro that gets the
/// names of all variants.
macro_rules! tagged_union {
    ($(#[$doc:meta])* $union:ident { $($variant:ident($body:ident)),* $(,)? } with $then:ident) => {
        tagged_union! { $(#[$doc])* $union { $($variant($body)),* } }
        $then!($($variant),*);
    };
    ($(#[$doc:meta])* $union:ident { $($variant:ident($body:ident)),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)] // each variant is documented at its struct
        pub enum $union {
            $($variant(Box<$body>),)*
            /// A kind of a later version, of a client, or one that did not parse.
            Unknown($crate::tagged::Unknown),
        }

        impl $union {
            /// The value of the `kind` field.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => stringify!($body),)*
                    Self::Unknown(unknown) => &unknown.kind,
                }
            }

            /// Reads the fields of a kind; what does not fit is kept as [`Self::Unknown`].
            pub fn from_fields(kind: &str, fields: $crate::Extra) -> Self {
                $(if kind == stringify!($body) && let Ok(body) = $body::deserialize(&fields) {
                    return Self::$variant(Box::new(body));
                })*
                Self::Unknown($crate::tagged::Unknown { fields, kind: kind.to_owned() })
            }
        }

        $(impl From<$body> for $union {
            fn from(body: $body) -> Self {
                Self::$variant(Box::new(body))
            }
        })*

        impl Serialize for $union {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let kind = self.kind();
                match self {
                    $(Self::$variant(body) => $crate::tagged::Tagged { body, kind }.serialize(serializer),)*
                    Self::Unknown(body) => $crate::tagged::Tagged { body, kind }.serialize(serializer),
                }
            }
        }

        impl<'de> Deserialize<'de> for $union {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut fields = $crate::Extra::deserialize(deserializer)?;
                let Some(serde_json::Value::String(kind)) = fields.remove("kind") else {
                    return Err(serde::de::Error::missing_field("kind"));
                };
                Ok(Self::from_fields(&kind, fields))
            }
        }
    };
}

pub(crate) use tagged_union;
