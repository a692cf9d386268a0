// Commands as a shell reads them.

/** A text as one word of a shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Commits everything. Where nobody has said who they are, the commit names this program. */
export const commitCommand = (message: string) =>
  "git config user.email >/dev/null || set -- -c user.name=Deft -c user.email=deft@localhost; " +
  `git add -A && git "$@" commit -m ${quoted(message)}`;
