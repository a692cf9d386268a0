import { ArrowDown, ArrowUp, Database } from "lucide-react";
import type { ReactNode } from "react";
import { dollars, type Meter, short } from "../meter";
import { t } from "../words";

/** What was spent, always in view. */
export function Meters({ meter, children }: { meter: Meter; children?: ReactNode }) {
  const share = meter.context === null ? null : Math.ceil(meter.context * 100);
  return (
    <dl className="meters" aria-label={t("Used so far")}>
      <div className="cost">
        <dt>{t("Cost")}</dt>
        <dd>{dollars(meter)}</dd>
      </div>
      {children}
      <div title={t("{input} tokens in, {cached} of them from the cache; {output} out", {
          input: meter.input,
          cached: meter.cached,
          output: meter.output,
        })}>
        <dt>{t("Tokens")}</dt>
        <dd>
          <span className="in-words">
            {t("{in} in · {out} out", { in: short(meter.input), out: short(meter.output) })}
            {meter.cached > 0 && ` · ${t("{n} cached", { n: short(meter.cached) })}`}
          </span>
          <span className="in-signs" aria-hidden="true">
            <ArrowUp /> {short(meter.input)} <ArrowDown /> {short(meter.output)}
            {meter.cached > 0 && (
              <>
                {" "}
                <Database /> {short(meter.cached)}
              </>
            )}
          </span>
        </dd>
      </div>
      {share !== null && (
        <div>
          <dt>{t("Context")}</dt>
          <dd>
            <meter min={0} max={100} high={80} value={share} aria-label={t("Share of the context window")} />
            {share} %
          </dd>
        </div>
      )}
    </dl>
  );
}
