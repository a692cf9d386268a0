//! A server's answer as an observation.

use deft_types::{Content, ImageContent, MCPToolObservation};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::limits::{MAX_ERROR, MAX_IMAGE, MAX_IMAGES};
use crate::outputs::{Outputs, size};
use crate::text::{beginning, visible};

/// What the server answered: all its text in one part, then the images.
pub(crate) async fn observed(tool: &str, result: CallToolResult, outputs: &Outputs) -> MCPToolObservation {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for block in result.content {
        let (text, image) = read(block);
        texts.extend(text);
        match image {
            Some(url) if images.len() < MAX_IMAGES => images.push(url),
            Some(_) => texts.push(format!("[an image was left out: {MAX_IMAGES} can be shown]")),
            None => {}
        }
    }
    // A server says the same in text, if it says anything there.
    if let (true, Some(data)) = (texts.is_empty(), &result.structured_content) {
        texts.push(format!("{data:#}"));
    }
    if texts.is_empty() && images.is_empty() {
        texts.push("[the tool has answered without any content]".to_owned());
    }
    let mut content = vec![Content::text(outputs.shown(texts.join("\n")).await)];
    content.extend(images.into_iter().map(|url| {
        Content::Image(ImageContent {
            image_urls: vec![url],
            ..ImageContent::default()
        })
    }));
    MCPToolObservation {
        content,
        is_error: result.is_error.unwrap_or(false),
        tool_name: tool.to_owned(),
        ..MCPToolObservation::default()
    }
}

/// The text and the image of a part of an answer.
fn read(block: ContentBlock) -> (Option<String>, Option<String>) {
    let text = match block {
        ContentBlock::Text(part) => part.text,
        ContentBlock::Image(part) => match image(&part.mime_type, &part.data) {
            Ok(url) => return (None, Some(url)),
            Err(note) => note,
        },
        ContentBlock::Audio(part) => format!("[{} of sound were left out]", size(part.data.len())),
        ContentBlock::ResourceLink(link) => format!("[see {}: {}]", link.uri, link.name),
        ContentBlock::Resource(part) => match part.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents {
                uri, mime_type, blob, ..
            } => match image(mime_type.as_deref().unwrap_or_default(), &blob) {
                Ok(url) => return (Some(format!("[{uri}]")), Some(url)),
                Err(_) => format!("[{uri}: {} of data were left out]", size(blob.len())),
            },
            _ => "[a resource of an unknown kind was left out]".to_owned(),
        },
        _ => "[a part of an unknown kind was left out]".to_owned(),
    };
    (Some(text), None)
}

/// Something went wrong, told to the model.
pub(crate) fn failed(tool: &str, message: &str) -> MCPToolObservation {
    MCPToolObservation {
        content: vec![Content::text(beginning(&visible(message), MAX_ERROR))],
        is_error: true,
        tool_name: tool.to_owned(),
        ..MCPToolObservation::default()
    }
}

/// An image as a `data:` URL, or why there is none.
fn image(mime_type: &str, data: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '+' | '-');
    if !mime_type.starts_with("image/") || !mime_type.chars().all(plain) {
        return Err("[an image of an unknown kind was left out]".to_owned());
    }
    if data.len() > MAX_IMAGE {
        return Err(format!(
            "[an image of {} was left out: it is too large]",
            size(data.len())
        ));
    }
    let base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    if !data.chars().all(base64) {
        return Err("[an image that cannot be read was left out]".to_owned());
    }
    Ok(format!("data:{mime_type};base64,{data}"))
}

#[cfg(test)]
mod tests {
    use deft_types::text_of;
    use serde_json::{Value, json};

    use super::*;

    async fn answer(result: Value) -> MCPToolObservation {
        let outputs = Outputs::new(std::path::Path::new("/nowhere"));
        observed("t", serde_json::from_value(result).unwrap(), &outputs).await
    }

    #[tokio::test]
    async fn text_images_and_resources_become_content() {
        let observation = answer(json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "image", "data": "aGk=", "mimeType": "text/html"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGk="}},
            {"type": "resource_link", "uri": "file:///c", "name": "three"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        ], "structuredContent": {"not": "repeated"}}))
        .await;
        assert_eq!(
            text_of(&observation.content),
            "one\n[an image of an unknown kind was left out]\n[file:///a]\ntwo\n[file:///b: 4 bytes of data were left \
             out]\n[see file:///c: three]\n[4 bytes of sound were left out]"
        );
        let Content::Image(image) = &observation.content[1] else {
            panic!("{observation:?}")
        };
        assert_eq!(image.image_urls, ["data:image/png;base64,aGk="]);
        assert!(!observation.is_error);
    }

    #[tokio::test]
    async fn structured_content_stands_in_for_text_and_errors_are_errors() {
        let observation =
            answer(json!({"content": [], "structuredContent": {"a": 1}, "isError": true})).await;
        assert_eq!(text_of(&observation.content), "{\n  \"a\": 1\n}");
        assert!(observation.is_error);
        assert!(text_of(&answer(json!({"content": []})).await.content).contains("without any content"));
    }
}
