import { dollars, short } from "../meter";
import type { Spent } from "../spending";
import { t } from "../words";

/** What a step has used. */
export function SpentNote({ spent }: { spent: Spent }) {
  const { input, output, cached } = spent;
  return (
    <p className="hint spent">
      {dollars(spent)} · {t("{in} in, {out} out", { in: short(input), out: short(output) })}
      {cached > 0 && ` · ${t("{n} cached", { n: short(cached) })}`}
    </p>
  );
}
