import { dollars, short } from "../meter";
import type { Spent } from "../spending";
import { t } from "../words";

/** What a step has used. */
export function SpentNote({ spent }: { spent: Spent }) {
  const { input, output } = spent;
  return (
    <p className="hint spent">
      {dollars(spent)} · {t("{in} in, {out} out", { in: short(input), out: short(output) })}
    </p>
  );
}
