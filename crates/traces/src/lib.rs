//! Sends spans to an OpenTelemetry collector, over HTTP and in the background: whoever is slow or dead there delays
//! nobody here.
//!
//! It knows nothing of what the spans are about. Begin reading at [`Traces`].

mod endpoint;
mod post;

use std::path::Path;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;
use url::Url;

pub use self::endpoint::endpoint;
use self::post::Post;

/// How long the last spans may take to be sent when the program ends.
const LAST_SPANS: Duration = Duration::from_secs(2);
/// Who we are, unless the environment says otherwise.
const SERVICE: &str = "deft";

/// Why nothing can be traced.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// The address makes no sense.
    #[error(
        "traces cannot be sent to {address}: {reason}; correct OTEL_EXPORTER_OTLP_ENDPOINT or otlp_endpoint"
    )]
    Address {
        /// The address.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No connection can be made from here.
    #[error(transparent)]
    Net(#[from] deft_net::NetError),
    /// The exporter cannot be set up.
    #[error("traces cannot be sent: {0}")]
    Exporter(String),
}

/// Takes spans and sends them in batches. The queue is bounded: what does not fit is dropped.
pub struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// To the collector at this address. Headers, the service's name, batches and sampling are as the usual variables
    /// of OpenTelemetry say.
    pub fn sent_to(address: &str, ca_file: Option<&Path>, runtime: Handle) -> Result<Self, TracesError> {
        let wrong = |reason: String| TracesError::Address {
            address: address.to_owned(),
            reason,
        };
        let url: Url = address
            .parse()
            .map_err(|error: url::ParseError| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("it does not start with http:// or https://".to_owned()));
        }
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Post::new(deft_net::client(ca_file, &url)?, runtime))
            .with_endpoint(address)
            .build()
            .map_err(|error| TracesError::Exporter(error.to_string()))?;
        let provider = SdkTracerProvider::builder()
            .with_resource(resource())
            .with_batch_exporter(exporter)
            .build();
        Ok(Self { provider })
    }

    /// What hands them the spans whose target fits; events are for the log.
    pub fn layer<S>(&self, is_wanted: fn(&str) -> bool) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer(SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(move |metadata| {
                metadata.is_span() && is_wanted(metadata.target())
            }))
    }

    /// Sends what is left, as far as that is quick.
    pub async fn end(self) {
        let end = move || self.provider.shutdown_with_timeout(LAST_SPANS);
        let _ = tokio::task::spawn_blocking(end).await; // what could not be sent was told before
    }
}

fn resource() -> Resource {
    let named = Resource::builder().build();
    let name = named.get(&Key::from_static_str("service.name"));
    let is_ours = name.is_none_or(|name| name.as_str().starts_with("unknown_service"));
    let mut builder = Resource::builder();
    if is_ours {
        builder = builder.with_service_name(SERVICE);
    }
    builder
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build()
}
