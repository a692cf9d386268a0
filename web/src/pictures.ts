// Pictures that a person adds to a message.

/** Pictures of one message, and the size of each. */
export const MAX_PICTURES = 8;
const MAX_BYTES = 5 * 1024 * 1024;
const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Reads those of the files that can be sent, as `data:` addresses; the rest is said in words. */
export async function readPictures(files: Iterable<File>): Promise<{ pictures: string[]; refused: string | null }> {
  const all = [...files];
  const fits = all.filter((file) => KINDS.includes(file.type) && file.size <= MAX_BYTES);
  const pictures = await Promise.all(fits.slice(0, MAX_PICTURES).map(read));
  const refused =
    fits.length === all.length ? null : "Only PNG, JPEG, GIF and WebP pictures of at most 5 MB can be sent.";
  return { pictures, refused };
}

function read(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("the picture cannot be read"));
    reader.readAsDataURL(file);
  });
}
