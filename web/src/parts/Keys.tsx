import { ALL, chordFor, chordWords, doesWords } from "../keys";
import { usePreferences } from "../preferences";
import { useScreen } from "../screen";
import { t } from "../words";
import { Dialog } from "./Dialog";

/** Keys that always do the same. */
export const fixedKeys = (): [string, string][] => [
  [chordWords("Shift+Enter"), t("A new line")],
  ["@, /, !", t("Name a file; a command; run one in your shell")],
  ["↑, ↓", t("Earlier messages, in an empty field")],
  ["F6", t("Leave your terminal")],
  ["Esc", t("Close what is open")],
];

/** What each key does. */
export function KeyMap({ keys }: { keys: [string, string][] }) {
  return (
    <dl className="keys">
      {keys.map(([key, what]) => (
        <div key={what}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The keyboard map. */
export default function Keys() {
  const own = usePreferences((preferences) => preferences.keys);
  const chosen = ALL.flatMap((does): [string, string][] => {
    const chord = chordFor(does, own);
    return chord === null ? [] : [[chordWords(chord), doesWords(does)]];
  });
  const change = () => useScreen.setState({ dialog: "settings", section: "keys" });
  return (
    <Dialog title={t("Keyboard map")} onClose={() => useScreen.setState({ dialog: null })}>
      <KeyMap keys={[...chosen, ...fixedKeys()]} />
      <div className="row end">
        <button onClick={change}>{t("Use other keys")}</button>
      </div>
    </Dialog>
  );
}
