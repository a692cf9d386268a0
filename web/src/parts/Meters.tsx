import { dollars, type Meter, short } from "../meter";

/** What was spent, always in view. */
export function Meters({ meter }: { meter: Meter }) {
  const share = meter.context === null ? null : Math.ceil(meter.context * 100);
  return (
    <dl className="meters" aria-label="Used so far">
      <div>
        <dt>Cost</dt>
        <dd>{dollars(meter)}</dd>
      </div>
      <div title={`${meter.input} tokens in, ${meter.cached} of them from the cache; ${meter.output} out`}>
        <dt>Tokens</dt>
        <dd>
          {short(meter.input)} in · {short(meter.output)} out
          {meter.cached > 0 && ` · ${short(meter.cached)} cached`}
        </dd>
      </div>
      {share !== null && (
        <div>
          <dt>Context</dt>
          <dd>
            <meter min={0} max={100} high={80} value={share} aria-label="Share of the context window" />
            {share} %
          </dd>
        </div>
      )}
    </dl>
  );
}
