// Changes a file only if it still is what somebody saw. A look and a write of their own would lose what is written between
// them, so one command in the workspace does both.

import { freshId } from "./fresh-id";
import { quoted } from "./quoting";
import { workspace } from "./workspace";

/** What the command prints where the file is another one, and where all was done. */
const DIFFERS = "differs";
const DONE = "done";

/** Where a file is: in a conversation's workspace, whose commands begin in `folder`. */
export interface Place {
  conversation: string;
  folder: string;
  path: string;
}

/** Gives a file another content; whether it was still what was seen (null: not there). Its rights stay. */
export async function replaceIf(place: Place, seen: string | null, content: string): Promise<boolean> {
  const beside = `${place.path}.${freshId()}.tmp`;
  await workspace.write(place.conversation, beside, new Blob([content]));
  const [from, to] = [quoted(beside), quoted(place.path)];
  return doIf(place, seen, `cat ${from} > ${to} && rm -f -- ${from}`, `rm -f -- ${from};`);
}

/** Removes a file; whether it was still what was seen. */
export const removeIf = (place: Place, seen: string | null) => doIf(place, seen, `rm -- ${quoted(place.path)}`, "");

async function doIf({ conversation, folder, path }: Place, seen: string | null, command: string, otherwise: string): Promise<boolean> {
  const isSame = seen === null ? `[ ! -e ${quoted(path)} ]` : `[ "$(cksum < ${quoted(path)})" = '${checksum(seen)}' ]`;
  const script = `if ${isSame}; then ${command} && echo ${DONE}; else ${otherwise} echo ${DIFFERS}; fi`;
  const said = await workspace.run(conversation, script, folder);
  return said.split("\n").includes(DONE); // what else is said is about a file that is gone, or a missing program
}

/** What the command `cksum` says of a text. The browser's own digests are not there on pages without TLS. */
export function checksum(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let sum = 0;
  const add = (byte: number) => {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) sum = sum < 0 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  };
  bytes.forEach(add);
  for (let length = bytes.length; length > 0; length = Math.floor(length / 256)) add(length % 256);
  return `${~sum >>> 0} ${bytes.length}`;
}
