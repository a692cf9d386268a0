import { useScreen } from "../screen";
import { t } from "../words";
import { Dialog } from "./Dialog";

const keys = (): [string, string][] => [
  ["Ctrl+K, ⌘K", t("All commands and conversations")],
  ["Enter", t("Send")],
  ["Alt+Enter", t("Said when this turn ends")],
  ["Shift+Enter", t("A new line")],
  ["@, /, !", t("Name a file; a command; run one in your shell")],
  ["↑, ↓", t("Earlier messages, in an empty field")],
  ["Ctrl+., ⌘.", t("Stop now")],
  ["Ctrl+Enter, ⌘↩", t("Allow what waits")],
  ["Ctrl+Shift+Backspace, ⇧⌘⌫", t("Reject what waits")],
  ["Alt+1 … Alt+7", t("Show or hide a panel")],
  ["Ctrl+/, ⌘/", t("This map")],
  ["Esc", t("Close what is open")],
];

/** What each key does. */
export function KeyMap() {
  return (
    <dl className="keys">
      {keys().map(([key, what]) => (
        <div key={key}>
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
  return (
    <Dialog title={t("Keyboard map")} onClose={() => useScreen.setState({ dialog: null })}>
      <KeyMap />
    </Dialog>
  );
}
