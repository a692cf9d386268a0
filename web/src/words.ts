// The app's words in the user's language. English stands in the code; the other languages are files of it.

import { create } from "zustand";
import { usePreferences } from "./preferences";

export type Language = "en" | "de" | "fr";
export const LANGUAGES: Record<Language, string> = { en: "English", de: "Deutsch", fr: "Français" };

type Words = Record<string, string>;
const LOADERS: Record<Language, () => Promise<Words>> = {
  en: async () => ({}),
  de: async () => (await import("./words/de.json")).default,
  fr: async () => (await import("./words/fr.json")).default,
};

let words: Words = {};

/** The language that is shown. What is on the screen is made anew when it changes. */
export const useLanguage = create<{ language: Language }>(() => ({ language: "en" }));

/** A text in the user's language; `{name}` in it stands for a value. */
export function t(text: string, values: Record<string, string | number> = {}): string {
  return (words[text] ?? text).replace(/\{(\w+)\}/g, (place, name: string) => String(values[name] ?? place));
}

/** The language that is wished for: what was chosen, else the browser's if we have it. */
export function wished(chosen: string, browsers: readonly string[]): Language {
  const all = [chosen, ...browsers].map((name) => name.slice(0, 2).toLowerCase());
  return all.find((name): name is Language => name in LANGUAGES) ?? "en";
}

export async function loadLanguage(): Promise<void> {
  const language = wished(usePreferences.getState().language, navigator.languages);
  words = await LOADERS[language]().catch(() => ({}));
  document.documentElement.lang = language;
  useLanguage.setState({ language });
}
