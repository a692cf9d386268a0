//! Makes an image smaller.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::imageops::FilterType;
use image::{DynamicImage, ImageError, ImageFormat, ImageReader};

use super::{MAX_IMAGE_BYTES, Prepared};

/// An image whose longest side would have to be shorter than this is not sent.
const MIN_SIDE: u32 = 64;

/// Makes the image of a `data:` address smaller where it has too long a side or too many bytes, and labels it as
/// what it is. What cannot be read is left to the provider, which may know more formats.
pub(super) fn shrink(url: &str, max_side: u32, max_bytes: usize) -> Result<Prepared, String> {
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
    let side = width.max(height);
    if side <= max_side && bytes.len() <= max_bytes {
        let label = format.map_or("image/png", |format| format.to_mime_type());
        return Ok(if url.starts_with(&format!("data:{label};")) {
            Prepared::Unchanged
        } else {
            Prepared::Changed(format!("data:{label};base64,{encoded}"))
        });
    }
    // A photo stays one; everything else may have sharp edges or be transparent.
    let format = match format {
        Some(ImageFormat::Jpeg) => ImageFormat::Jpeg,
        Some(_) | None => ImageFormat::Png,
    };
    let smaller = decode(&bytes).and_then(|image| fitted(&image, format, side.min(max_side), max_bytes));
    match smaller {
        Ok(Some(smaller)) => {
            let (label, smaller) = (format.to_mime_type(), STANDARD.encode(smaller));
            Ok(Prepared::Changed(format!("data:{label};base64,{smaller}")))
        }
        Ok(None) => Err(format!("it could not be made smaller than {max_bytes} bytes")),
        Err(error) => Err(format!(
            "it has {width}×{height} pixels and {} bytes, more than the {max_side} a side or the {max_bytes} bytes that can be sent, and could not be made smaller ({error})",
            bytes.len()
        )),
    }
}

fn decode(bytes: &[u8]) -> Result<DynamicImage, ImageError> {
    ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()?
        .decode()
}

/// The image with its longest side as long as the bytes allow.
fn fitted(
    image: &DynamicImage,
    format: ImageFormat,
    mut side: u32,
    max_bytes: usize,
) -> Result<Option<Vec<u8>>, ImageError> {
    loop {
        let mut smaller = Cursor::new(Vec::new());
        image
            .resize(side, side, FilterType::Triangle)
            .write_to(&mut smaller, format)?;
        let smaller = smaller.into_inner();
        if smaller.len() <= max_bytes {
            return Ok(Some(smaller));
        }
        side = side / 4 * 3;
        if side < MIN_SIDE {
            return Ok(None);
        }
    }
}
