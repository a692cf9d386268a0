//! Where traces are sent.

/// The path of traces at a collector.
const PATH: &str = "/v1/traces";

/// The address that the usual variables name, else the one that was set; none if nothing is to be traced.
pub fn endpoint(variable: impl Fn(&str) -> Option<String>, set: Option<&str>) -> Option<String> {
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    let is_off = variable("OTEL_SDK_DISABLED").is_some_and(|off| off.eq_ignore_ascii_case("true"))
        || variable("OTEL_TRACES_EXPORTER").is_some_and(|exporter| exporter == "none");
    if is_off {
        return None;
    }
    if let Some(whole) = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        return Some(whole);
    }
    let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT").or(set.map(str::to_owned))?;
    Some(format!("{}{PATH}", base.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_variables_say_where_to() {
        const BASE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        for (variables, set, expected) in [
            (&[][..], None, None),
            (&[], Some("http://c:4318"), Some("http://c:4318/v1/traces")),
            (
                &[(BASE, "http://v:4318/")],
                Some("http://c"),
                Some("http://v:4318/v1/traces"),
            ),
            (
                &[
                    (BASE, "http://v"),
                    ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/x"),
                ],
                None,
                Some("http://t/x"),
            ),
            (&[(BASE, "http://v"), ("OTEL_SDK_DISABLED", "true")], None, None),
            (
                &[(BASE, "http://v"), ("OTEL_TRACES_EXPORTER", "none")],
                None,
                None,
            ),
            (&[(BASE, "")], None, None),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(endpoint(variable, set).as_deref(), expected, "{variables:?}");
        }
    }
}
