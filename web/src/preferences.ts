// What a person likes in this browser. The key of a model is only held while the tab is open.

import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { Start } from "./api";

export type Theme = "system" | "light" | "dark";

interface Preferences {
  theme: Theme;
  model: string;
  folder: string;
  baseUrl: string;
  policy: Start["policy"];
  apiKey: string;
}

export const usePreferences = create<Preferences>()(
  persist((): Preferences => ({ theme: "system", model: "", folder: "", baseUrl: "", policy: "risky", apiKey: "" }), {
    name: "deft.preferences",
    partialize: ({ apiKey: _, ...kept }) => kept,
  }),
);

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
}
