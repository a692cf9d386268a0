// What a person adds to a message: pictures go with it, other files into the workspace, where the message names them.

import { visibleControls } from "./plain";
import { t } from "./words";
import { workspace } from "./workspace";

/** Pictures of one message, and the size of each. */
const MAX_PICTURES = 8;
const MAX_PICTURE_BYTES = 5 * 1024 * 1024;
const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** Files that are taken at once, and the size of each. */
const MAX_FILES = 20;
const MAX_FILE_BYTES = 100 * 1024 * 1024;
/** Where files go, so that none of the project's is overwritten. */
const FOLDER = "uploads";

export interface Attached {
  /** As `data:` addresses. */
  pictures: string[];
  /** Names of files, seen from the workspace. */
  files: string[];
  refused: string | null;
}

/** What to say of one that cannot be read, as a folder that is dropped; null: it can. */
export async function unreadable(file: File): Promise<string | null> {
  const isRead = file.slice(0, 1).arrayBuffer().then(() => true, () => false);
  if (await isRead) return null;
  return t("“{name}” cannot be read. Of a folder, add the files in it.", { name: visibleControls(file.name) });
}

const isPicture = (file: File) => KINDS.includes(file.type) && file.size <= MAX_PICTURE_BYTES;

/** Those among files that can go with a message, which has some pictures already, and those that go into the workspace. */
export async function sorted(given: Iterable<File>, had: number): Promise<{ pictures: string[]; others: File[]; refused: string | null }> {
  const offered = [...given];
  const unread = await Promise.all(offered.map(unreadable));
  const all = offered.filter((_, index) => unread[index] === null);
  const rest = all.filter((file) => !isPicture(file));
  const others = rest.filter((file) => file.size <= MAX_FILE_BYTES).slice(0, MAX_FILES);
  const wanted = all.filter(isPicture);
  const pictures = wanted.slice(0, Math.max(0, MAX_PICTURES - had));
  const refused = [
    ...unread,
    others.length < rest.length && t("At most {n} files of at most {size} MB each can be added.", { n: MAX_FILES, size: MAX_FILE_BYTES / 2 ** 20 }),
    pictures.length < wanted.length && t("At most {n} pictures can go with a message.", { n: MAX_PICTURES }),
  ];
  return { pictures: await Promise.all(pictures.map(read)), others, refused: refused.filter(Boolean).join(" ") || null };
}

/** Takes files in. What cannot be taken is said in words. */
export async function attach(id: string, folder: string, given: Iterable<File>, had: number): Promise<Attached> {
  const { pictures, others, refused } = await sorted(given, had);
  return { pictures, files: await bring(id, folder, others), refused };
}

/** Brings files into the workspace, and gives their names there. */
export async function bring(id: string, folder: string, files: readonly File[]): Promise<string[]> {
  if (files.length > 0) await workspace.makeFolder(id, `${folder}/${FOLDER}`);
  const names: string[] = [];
  for (const file of files) {
    const name = await freeName(nameFor(file.name), (name) => workspace.isThere(id, `${folder}/${FOLDER}`, name));
    await workspace.write(id, `${folder}/${FOLDER}/${name}`, file);
    names.push(`${FOLDER}/${name}`);
  }
  return names;
}

/** A name like this one that nothing has yet: behind `report.csv` comes `report-2.csv`. */
async function freeName(name: string, isTaken: (name: string) => Promise<boolean>): Promise<string> {
  const [, stem = name, ending = ""] = /^(.+?)(\.[^.]*)?$/.exec(name) ?? [];
  let free = name;
  for (let count = 2; await isTaken(free); count += 1) free = `${stem}-${count}${ending}`;
  return free;
}

/** A text with the names of files behind it. */
export const naming = (text: string, files: readonly string[]) =>
  [text.trimEnd(), ...files.map((name) => `@${name}`)].join(" ").trimStart();

/** A name that a message can carry as one word. */
export const nameFor = (name: string) => name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+/, "") || "file";

function read(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("the picture cannot be read"));
    reader.readAsDataURL(file);
  });
}
