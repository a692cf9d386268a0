// Numbers as the user's language writes them.

import { useLanguage } from "./words";

/** Made once for each language: making one takes longer than using it a hundred times. */
export function numbers(options: Intl.NumberFormatOptions): (value: number) => string {
  const formats = new Map<string, Intl.NumberFormat>();
  return (value) => {
    const { language } = useLanguage.getState();
    const format = formats.get(language) ?? new Intl.NumberFormat(language, options);
    formats.set(language, format);
    return format.format(value);
  };
}

/** A moment, as the user's language writes it. */
export const moment = (time: string) =>
  new Date(time).toLocaleString(useLanguage.getState().language, { dateStyle: "medium", timeStyle: "short" });
