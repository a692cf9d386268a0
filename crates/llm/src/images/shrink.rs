//! Makes an image smaller.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::imageops::FilterType;
use image::{ImageFormat, ImageReader};

use super::{MAX_IMAGE_BYTES, Prepared};

/// Makes the image of a `data:` address smaller where a side is too long. What cannot be read is left to the
/// provider, which may know more formats.
pub(super) fn shrink(url: &str, max_side: u32) -> Result<Prepared, String> {
    let Some((_, encoded)) = url.split_once(";base64,") else {
        return Ok(Prepared::Unchanged);
    };
    if encoded.len() / 4 * 3 > MAX_IMAGE_BYTES {
        return Err(format!("it is larger than {} MB", MAX_IMAGE_BYTES / 1024 / 1024));
    }
    let Ok(bytes) = STANDARD.decode(encoded.trim()) else {
        return Ok(Prepared::Unchanged);
    };
    let Ok(reader) = ImageReader::new(Cursor::new(&bytes)).with_guessed_format() else {
        return Ok(Prepared::Unchanged);
    };
    let format = reader.format();
    let Ok((width, height)) = reader.into_dimensions() else {
        return Ok(Prepared::Unchanged);
    };
    if width.max(height) <= max_side {
        return Ok(Prepared::Unchanged);
    }
    // A photo stays one; everything else may have sharp edges or be transparent.
    let (format, kind) = match format {
        Some(ImageFormat::Jpeg) => (ImageFormat::Jpeg, "jpeg"),
        Some(_) | None => (ImageFormat::Png, "png"),
    };
    let failed = |error: image::ImageError| {
        format!(
            "it has {width}×{height} pixels, more than the {max_side} that can be sent, and could not be made smaller ({error})"
        )
    };
    let image = ImageReader::new(Cursor::new(&bytes))
        .with_guessed_format()
        .map_err(|error| failed(error.into()))?
        .decode()
        .map_err(failed)?;
    let mut smaller = Cursor::new(Vec::new());
    image
        .resize(max_side, max_side, FilterType::Triangle)
        .write_to(&mut smaller, format)
        .map_err(failed)?;
    let smaller = STANDARD.encode(smaller.into_inner());
    Ok(Prepared::Changed(format!("data:image/{kind};base64,{smaller}")))
}
