// Which keys do what. A chord is written as `Mod+Alt+Shift+Key`, as far as it has these; Mod is Ctrl or ⌘.

import { usePreferences } from "./preferences";
import { PANELS, type PanelName, panelWords } from "./screen";
import { t } from "./words";
import { isWriting } from "./writing";

type PanelKey = `panel:${PanelName}`;
export type Does = "palette" | "keys" | "help" | "stop" | "allow" | "reject" | PanelKey | "send" | "queue" | "recall";

const panelKey = (name: PanelName): PanelKey => `panel:${name}`;

/** In the field for messages. There these keys may mean something else than on the rest of the page. */
const IN_FIELD: readonly Does[] = ["send", "queue", "recall"];

const USUAL: Record<Does, string> = {
  palette: "Mod+K",
  keys: "Mod+/",
  help: "?",
  stop: "Mod+.",
  allow: "Mod+Enter",
  reject: "Mod+Shift+Backspace",
  send: "Enter",
  queue: "Alt+Enter",
  recall: "Alt+ArrowUp",
  ...(Object.fromEntries(PANELS.map((name, index) => [panelKey(name), `Alt+${index + 1}`])) as Record<PanelKey, string>),
};

/** What can be put on other keys, in the order in which it is shown. */
export const ALL = Object.keys(USUAL) as Does[];

export const doesWords = (does: Does): string => {
  if (does.startsWith("panel:")) return t("Show the panel “{name}”", { name: panelWords()[does.slice(6) as PanelName] });
  return {
    palette: t("All commands and conversations"),
    keys: t("Show this map"),
    help: t("Show this map, while you are not typing"),
    stop: t("Stop now"),
    allow: t("Allow what waits"),
    reject: t("Reject what waits"),
    send: t("Send"),
    queue: t("Said when this turn ends"),
    recall: t("Search what you said before"),
  }[does as Exclude<Does, PanelKey>];
};

/** The chord of each that a person has chosen; null: none. */
export type OwnKeys = Partial<Record<Does, string | null>>;

/** The chord that does something; null: none. */
export function chordFor(does: Does, own: OwnKeys = usePreferences.getState().keys): string | null {
  const chosen = own[does];
  return chosen === undefined ? USUAL[does] : chosen;
}

/** What is pressed; null: nothing but Shift and the like yet. */
export function chordOf(event: Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): string | null {
  if (/^(Control|Meta|Alt|AltGraph|Shift|Dead|Process|Unidentified)$/.test(event.key)) return null;
  // Alt makes other signs of letters and numbers, on a Mac above all: then the key itself counts.
  const plain = event.altKey ? /^(?:Key|Digit)(\w)$/.exec(event.code)?.[1] : undefined;
  const key = plain ?? (event.key.length === 1 ? event.key.toUpperCase() : event.key);
  // Of other signs than letters it depends on the keyboard whether they need Shift.
  const isShifted = event.shiftKey && (key.length > 1 || /^\p{L}$/u.test(key) || plain !== undefined);
  const parts = [(event.ctrlKey || event.metaKey) && "Mod", event.altKey && "Alt", isShifted && "Shift", key === " " ? "Space" : key];
  return parts.filter(Boolean).join("+");
}

/** Whether a chord can stand for something: alone, letters and the keys to move and write with are needed. */
export function canBeUsed(chord: string, does: Does): boolean {
  if (/^(Mod|Alt)\+/.test(chord) || /^(Shift\+)?F\d+$/.test(chord)) return true;
  return IN_FIELD.includes(does) ? /^(Shift\+)?Enter$/.test(chord) : /^[^\p{L}\p{N}]$/u.test(chord);
}

/** Whether a key is the one for it. A chord that writes something is no command to whoever writes. */
export function isKey(event: KeyboardEvent, does: Does): boolean {
  const chord = chordOf(event);
  if (chord === null || chord !== chordFor(does)) return false;
  const writes = chord.length === 1 || (event.altKey && event.key.length === 1 && !/^[\p{L}\d]$/u.test(event.key));
  return !(writes && isWriting(event.target));
}

/** The panel whose key is pressed. */
export const panelOf = (event: KeyboardEvent): PanelName | null => PANELS.find((name) => isKey(event, panelKey(name))) ?? null;

/** Puts something on other keys, or on none. What was on those has none then. */
export function withKey(own: OwnKeys, does: Does, chord: string | null): OwnKeys {
  const isField = IN_FIELD.includes(does);
  const others = ALL.filter((other) => other !== does && IN_FIELD.includes(other) === isField && chordFor(other, own) === chord);
  const taken = chord === null ? {} : Object.fromEntries(others.map((other) => [other, null]));
  return { ...own, ...taken, [does]: chord };
}

const isMac = () => /Mac|iPhone|iPad/.test(navigator.platform);
const SIGNS: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" };
const MAC: Record<string, string> = { ...SIGNS, Mod: "⌘", Alt: "⌥", Shift: "⇧", Enter: "↩", Backspace: "⌫" };

/** A chord as it stands on the keys of this machine. */
export function chordWords(chord: string): string {
  const parts = chord === "+" ? ["+"] : chord.split(/\+(?!$)/);
  if (isMac()) return parts.map((part) => MAC[part] ?? part).join("");
  return parts.map((part) => SIGNS[part] ?? (part === "Mod" ? "Ctrl" : part)).join("+");
}

/** Words about something, with the keys for it if there are any. */
export function withChord(words: string, does: Does): string {
  const chord = chordFor(does);
  return chord === null ? words : `${words} (${chordWords(chord)})`;
}
