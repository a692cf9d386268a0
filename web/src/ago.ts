// How long ago something was, in few letters.

import { t, useLanguage } from "./words";

const STEPS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;
/** What is older is told by its date. */
const DAYS = 7;

/** Made once: making one takes longer than using it a hundred times. */
const formats = new Map<string, Intl.NumberFormat>();

function formatOf(language: string, unit: string): Intl.NumberFormat {
  const name = `${language} ${unit}`;
  const format = formats.get(name) ?? new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "narrow" });
  formats.set(name, format);
  return format;
}

export function ago(time: string, now = Date.now()): string {
  const { language } = useLanguage.getState();
  const date = new Date(time);
  const seconds = (now - date.getTime()) / 1000;
  if (Number.isNaN(seconds)) return "";
  if (seconds >= DAYS * 86_400) return date.toLocaleDateString(language, { day: "numeric", month: "short" });
  const step = STEPS.find(([, length]) => seconds >= length);
  if (!step) return t("now");
  const [unit, length] = step;
  return formatOf(language, unit).format(Math.floor(seconds / length));
}
