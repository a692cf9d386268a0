//! A byte stream whose bytes a task of ours carries.

use deft_executor::Holding;
use tokio::io::DuplexStream;
use tokio_util::task::AbortOnDropHandle;

/// Bytes on their way in each direction.
const MAX_WAITING_BYTES: usize = 256 * 1024;

/// What is written is carried to an executor, and what that says is read. Dropping it ends the connection.
pub(crate) type Carried = Holding<DuplexStream, AbortOnDropHandle<()>>;

/// A stream, and its other end in the hands of a carrier. The stream ends with it.
pub(crate) fn carried<F>(carrier: impl FnOnce(DuplexStream) -> F) -> Carried
where
    F: Future<Output = ()> + Send + 'static,
{
    let (stream, far) = tokio::io::duplex(MAX_WAITING_BYTES);
    Holding::new(stream, AbortOnDropHandle::new(tokio::spawn(carrier(far))))
}
