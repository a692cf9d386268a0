//! Whether and where runs are traced.

use deft_traces::Traces;
use tokio::runtime::Handle;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::settings::{BaseUrl, Settings, Surroundings};

/// Traces as the settings and the usual variables say; none unless somebody wants them.
pub(crate) fn wanted(
    settings: &Settings,
    surroundings: &Surroundings,
) -> Result<Option<Traces>, deft_traces::TracesError> {
    let variable = |name: &str| surroundings.env.get(name).cloned();
    let set = settings.otlp_endpoint.value.as_ref().map(BaseUrl::as_str);
    let Some(address) = deft_traces::endpoint(variable, set) else {
        return Ok(None);
    };
    let ca_file = settings.ca_file.value.as_deref();
    Traces::sent_to(&address, ca_file, Handle::current()).map(Some)
}

/// Which spans are sent: those of runs.
pub(crate) fn is_traced(target: &str) -> bool {
    target == "deft_engine::trace"
}

/// From now on runs are traced, where nothing is logged.
pub(crate) fn begin(traces: &Traces) {
    let subscriber = tracing_subscriber::registry().with(traces.layer(is_traced));
    let _ = tracing::subscriber::set_global_default(subscriber); // only where somebody else was first
}
