//! Messages on the wire: JSON behind a header that says how long it is.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A longer message ends the connection.
const MAX_MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// So does a longer line of a header.
const MAX_HEADER_BYTES: u64 = 4096;

/// The next message; nothing at the end.
pub(crate) async fn read(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Value>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if (&mut *from).take(MAX_HEADER_BYTES).read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        if !line.ends_with('\n') {
            return Err(invalid("a header without an end"));
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
    let length = length.filter(|length| *length <= MAX_MESSAGE_BYTES);
    let mut body = vec![0; length.ok_or_else(|| invalid("a message without a sensible length"))?];
    from.read_exact(&mut body).await?;
    Ok(Some(serde_json::from_slice(&body)?))
}

/// Writes a message.
pub(crate) async fn write(to: &mut (impl AsyncWrite + Unpin), message: &Value) -> io::Result<()> {
    let body = message.to_string();
    let whole = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    to.write_all(whole.as_bytes()).await?;
    to.flush().await
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn messages_are_read_as_they_were_written_and_nonsense_is_refused() {
        let mut wire = Vec::new();
        write(&mut wire, &json!({"text": "é"})).await.unwrap();
        wire.extend_from_slice(b"content-length: 2\r\nContent-Type: x\r\n\r\n[]");
        let mut from = wire.as_slice();
        assert_eq!(read(&mut from).await.unwrap(), Some(json!({"text": "é"})));
        assert_eq!(read(&mut from).await.unwrap(), Some(json!([])));
        assert_eq!(read(&mut from).await.unwrap(), None);

        let endless = "x".repeat(5000);
        for nonsense in [
            "\r\n{}",
            "Content-Length: 99999999999\r\n\r\n",
            "Content-Length: 5\r\n\r\n{}",
            &endless,
        ] {
            assert!(read(&mut nonsense.as_bytes()).await.is_err(), "{nonsense:.40}");
        }
    }
}
