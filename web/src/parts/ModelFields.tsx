import { usePreferences } from "../preferences";
import type { Offer } from "../wire";

/** Which model answers, how it is reached, and what it may do unasked. */
export function ModelFields({ offer }: { offer: Offer | undefined }) {
  const { model, apiKey, baseUrl, policy } = usePreferences();
  const set = usePreferences.setState;
  return (
    <>
      <label>
        Model
        <input
          list="models"
          value={model}
          placeholder={offer?.model ?? "provider/name, such as openai/gpt-5"}
          onChange={(event) => set({ model: event.target.value })}
        />
        <datalist id="models">
          {[...new Set([...(offer?.model ? [offer.model] : []), ...(offer?.models ?? []), "demo"])].map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <details className="more">
        <summary>Key and address of the model</summary>
        <label>
          Key
          <input
            type="password"
            autoComplete="off"
            value={apiKey}
            onChange={(event) => set({ apiKey: event.target.value })}
          />
        </label>
        <p className="hint">
          Leave it empty if the server has one. It is stored encrypted with each conversation; this browser forgets it
          when the tab is closed.
        </p>
        <label>
          Address
          <input
            type="url"
            placeholder="http://localhost:11434/v1"
            value={baseUrl}
            onChange={(event) => set({ baseUrl: event.target.value })}
          />
        </label>
      </details>
      <label>
        Ask before
        <select value={policy} onChange={(event) => set({ policy: event.target.value as typeof policy })}>
          <option value="risky">what looks dangerous</option>
          <option value="always">every action</option>
          <option value="never">nothing</option>
        </select>
      </label>
    </>
  );
}
