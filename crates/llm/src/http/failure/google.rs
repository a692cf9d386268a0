//! What Google adds to its failures.

use std::time::Duration;

use serde_json::Value;

/// How long to wait before the next try. `None` too where a limit per day is used up, whatever wait is named: that
/// is no matter of seconds.
pub(super) fn retry_after(error: &Value) -> Option<Duration> {
    let details = error["details"].as_array()?;
    let per_day = details
        .iter()
        .filter_map(|detail| detail["violations"].as_array())
        .flatten()
        .filter_map(|violation| violation["quotaId"].as_str())
        .any(|quota| quota.contains("PerDay"));
    if per_day {
        return None;
    }
    details
        .iter()
        .filter_map(|detail| detail["retryDelay"].as_str())
        .find_map(|delay| delay.strip_suffix('s')?.parse().ok())
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::ModelError;
    use crate::http::failure_of;

    fn exhausted(quota: &str, list: bool) -> ModelError {
        let error = json!({ "error": {
            "code": 429,
            "status": "RESOURCE_EXHAUSTED",
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "details": [
                { "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{ "quotaId": quota }] },
                { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s" },
            ],
        } });
        let body = if list { json!([error]) } else { error };
        failure_of(Some(429), None, &body.to_string())
    }

    #[test]
    fn a_limit_per_minute_is_waited_for_and_one_per_day_is_not() {
        for list in [false, true] {
            let error = exhausted("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", list);
            assert!(matches!(error, ModelError::RateLimit { .. }), "{error:?}");
            assert_eq!(error.retry_after().map(|wait| wait.as_millis()), Some(34_500));
            let error = exhausted("GenerateRequestsPerDayPerProjectPerModel-FreeTier", list);
            assert!(matches!(error, ModelError::Quota { .. }), "{error:?}");
        }
    }
}
