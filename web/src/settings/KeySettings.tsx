import { type KeyboardEvent, useState } from "react";
import { ALL, canBeUsed, chordFor, chordOf, chordWords, type Does, doesWords, withKey } from "../keys";
import { fixedKeys, KeyMap } from "../parts/Keys";
import { usePreferences } from "../preferences";
import { t } from "../words";

/** Which keys do what, in this browser. */
export function KeySettings() {
  const own = usePreferences((preferences) => preferences.keys);
  /** What waits for other keys. */
  const [changed, setChanged] = useState<Does | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const put = (does: Does, chord: string | null) => {
    usePreferences.setState({ keys: withKey(own, does, chord) });
    setChanged(null);
    setRefused(null);
  };
  const listen = (does: Does) => (event: KeyboardEvent) => {
    if (changed !== does || event.key === "Tab") return;
    event.preventDefault();
    event.stopPropagation();
    const chord = chordOf(event.nativeEvent);
    if (event.key === "Escape") setChanged(null);
    else if (chord && canBeUsed(chord, does)) put(does, chord);
    else if (chord) setRefused(t("{keys} is needed for writing. Press it together with Ctrl, ⌘ or Alt.", { keys: chordWords(chord) }));
  };
  const isOwn = Object.keys(own).length > 0;
  return (
    <>
      <p className="hint">{t("Choose a row and press other keys for it. Escape leaves it as it is.")}</p>
      <ul className="list own-keys" aria-label={t("Keyboard map")}>
        {ALL.map((does) => {
          const chord = chordFor(does, own);
          const what = doesWords(does);
          const shown = changed === does ? t("Press keys…") : chord === null ? t("none") : chordWords(chord);
          return (
            <li key={does} className="row">
              <span className="list-title">{what}</span>
              <button
                aria-label={t("{keys}, change for: {what}", { keys: shown, what })}
                aria-pressed={changed === does}
                onClick={() => setChanged(changed === does ? null : does)}
                onBlur={() => setChanged(null)}
                onKeyDown={listen(does)}
              >
                <kbd>{shown}</kbd>
              </button>
              <button className="quiet" aria-label={t("Off: {what}", { what })} disabled={chord === null} onClick={() => put(does, null)}>
                {t("Off")}
              </button>
            </li>
          );
        })}
      </ul>
      {refused && (
        <p role="alert" className="problem">
          {refused}
        </p>
      )}
      <div className="row end">
        <button disabled={!isOwn} onClick={() => usePreferences.setState({ keys: {} })}>
          {t("Restore the defaults")}
        </button>
      </div>
      <fieldset>
        <legend>{t("These stay")}</legend>
        <KeyMap keys={fixedKeys()} />
      </fieldset>
    </>
  );
}
