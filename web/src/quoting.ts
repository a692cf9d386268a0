// Commands as a shell reads them.

/** Stands between what a command wrote and the folder it ended in; no program writes it by chance. */
const MARK = "\u001edeft-folder ";

/** A text as one word of a shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Commits everything. Where nobody has said who they are, the commit names this program. */
export const commitCommand = (message: string) =>
  "git config user.email >/dev/null || set -- -c user.name=Deft -c user.email=deft@localhost; " +
  `git add -A && git "$@" commit -m ${quoted(message)}`;

/** The command in a folder, with what tells the folder it ends in. */
export const wrapped = (folder: string, command: string) =>
  `cd ${quoted(folder)} || exit\n${command}${ending}`;

const ending = `\ndeft_code=$?; printf '\\n${MARK.replace("\u001e", "\\036")}%s' "$PWD"; exit $deft_code`;

/** What was wrapped, and for which folder; null: something else was run. */
export function unwrappedCommand(text: string): { folder: string; command: string } | null {
  const start = /^cd ('(?:[^']|'\\'')*') \|\| exit\n/.exec(text);
  if (!start?.[1] || !text.endsWith(ending)) return null;
  const folder = start[1].slice(1, -1).replaceAll("'\\''", "'");
  return { folder, command: text.slice(start[0].length, -ending.length) };
}

/** What a command wrote, and the folder it ended in, if it has said so yet. */
export function unwrapped(text: string): { text: string; folder: string | null } {
  const place = text.lastIndexOf(`\n${MARK}`);
  return place < 0 ? { text, folder: null } : { text: text.slice(0, place), folder: text.slice(place + MARK.length + 1) };
}
