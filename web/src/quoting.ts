// Commands as a shell reads them.

/** Stands between what a command wrote and the folder it ended in; no program writes it by chance. */
const MARK = "\u001edeft-folder ";

/** A text as one word of a shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Commits everything. Where nobody has said who they are, the commit names this program. */
export const commitCommand = (message: string) =>
  "git config user.email >/dev/null || set -- -c user.name=Deft -c user.email=deft@localhost; " +
  `git add -A && git "$@" commit -m ${quoted(message)}`;

/** The command with what tells the folder it ends in. */
export const wrapped = (command: string) =>
  `${command}\ndeft_code=$?; printf '\\n${MARK.replace("\u001e", "\\036")}%s' "$PWD"; exit $deft_code`;

/** What a command wrote, and the folder it ended in, if it has said so yet. */
export function unwrapped(text: string): { text: string; folder: string | null } {
  const place = text.lastIndexOf(`\n${MARK}`);
  return place < 0 ? { text, folder: null } : { text: text.slice(0, place), folder: text.slice(place + MARK.length + 1) };
}
