//! Ids of calls that carry what Gemini must get back with them.
//!
//! Gemini signs its calls and wants each signature back on the call it came with. The signature travels in the
//! call's id, as `ID__thought__SIGNATURE`, which every event of the call has anyway. Logs of other agents that
//! talk to Gemini through `LiteLLM` have the same form.

use uuid::Uuid;

const MARK: &str = "__thought__";
/// What ids begin with that are none of Gemini's: ours, and those of models that were used before it.
const FOREIGN: &[&str] = &["call_", "toolu_"];

/// The id of a call as we keep it. The older models give a call no id.
pub(super) fn kept(id: Option<&str>, signature: Option<&str>) -> String {
    let id = match id {
        Some(id) if !id.is_empty() => id.to_owned(),
        _ => format!("call_{}", Uuid::new_v4().simple()),
    };
    match signature {
        Some(signature) => format!("{id}{MARK}{signature}"),
        None => id,
    }
}

/// The id alone: other servers refuse a long one, and have no use for the signature.
pub(crate) fn bare(kept: &str) -> &str {
    kept.split_once(MARK).map_or(kept, |(id, _)| id)
}

/// The id that Gemini gave the call, if it gave it one.
pub(super) fn given(kept: &str) -> Option<&str> {
    let id = bare(kept);
    let foreign = FOREIGN.iter().any(|prefix| id.starts_with(prefix));
    (!foreign && !id.is_empty()).then_some(id)
}

/// The signature that came with the call.
pub(super) fn signature(kept: &str) -> Option<&str> {
    kept.split_once(MARK).map(|(_, signature)| signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gemini_gave_comes_back_and_nothing_else() {
        let id = kept(Some("fc-1"), Some("c2ln+/="));
        assert_eq!(id, "fc-1__thought__c2ln+/=");
        assert_eq!((given(&id), signature(&id)), (Some("fc-1"), Some("c2ln+/=")));
        assert_eq!(bare(&id), "fc-1");

        let id = kept(Some("fc-1"), None);
        assert_eq!((given(&id), signature(&id)), (Some("fc-1"), None));

        for nothing in [None, Some("")] {
            let id = kept(nothing, Some("c2ln"));
            assert_eq!((given(&id), signature(&id)), (None, Some("c2ln")), "{id}");
        }
        assert_eq!(given("toolu_01"), None);
    }
}
