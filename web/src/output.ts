// What running tools write, as it comes. Kept short: the whole answer follows in the log.

const MAX_LETTERS = 64 * 1024;

export type LiveOutput = Readonly<Record<string, string>>;

export function withPiece(all: LiveOutput, action: string, piece: string): LiveOutput {
  return { ...all, [action]: ((all[action] ?? "") + piece).slice(-MAX_LETTERS) };
}

export function withoutAction(all: LiveOutput, action: string): LiveOutput {
  if (!(action in all)) return all;
  const { [action]: _, ...rest } = all;
  return rest;
}
