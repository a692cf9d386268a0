// What a person likes in this browser. The key of a model is only held while the tab is open.

import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { Decided } from "./allow";
import type { Worker } from "./external-agent";
import type { OwnKeys } from "./keys";
import type { Analyzer, Policy } from "./safety";
import type { PanelName } from "./screen";

export type Theme = "system" | "light" | "dark";

interface Preferences {
  theme: Theme;
  /** A language, or nothing: the browser's. */
  language: string;
  model: string;
  profile: string;
  folder: string;
  baseUrl: string;
  /** Who works, and the command where it is a program of the user's own. */
  worker: Worker;
  command: string;
  policy: Policy;
  analyzer: Analyzer;
  apiKey: string;
  diff: "inline" | "beside";
  /** The one that was looked at last. */
  panel: PanelName;
  notify: boolean;
  sound: boolean;
  /** What was put on other keys. */
  keys: OwnKeys;
  /** What was decided here about things that projects bring along: the server tells what was decided of one conversation. */
  decisions: Decided[];
}

const DEFAULTS: Preferences = {
  theme: "system",
  language: "",
  model: "",
  profile: "",
  folder: "",
  baseUrl: "",
  worker: "deft",
  command: "",
  policy: "risky",
  analyzer: "rules",
  apiKey: "",
  diff: "inline",
  panel: "changes",
  notify: false,
  sound: false,
  keys: {},
  decisions: [],
};

export const usePreferences = create<Preferences>()(
  persist((): Preferences => DEFAULTS, {
    name: "deft.preferences",
    partialize: ({ apiKey: _, ...kept }) => kept,
  }),
);

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
}
