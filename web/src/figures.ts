// Figures of the server, as Prometheus writes them.

import { numbers } from "./numbers";

const written = numbers({ maximumFractionDigits: 1 });

export interface Figure {
  /** With its labels. */
  name: string;
  help: string;
  value: string;
}

/** The figures of a page that are of use to a person: no distributions. */
export function figuresOf(page: string): Figure[] {
  const helps = new Map<string, string>();
  const figures: Figure[] = [];
  for (const line of page.split("\n")) {
    const [, named, help] = /^# HELP (\S+) (.*)$/.exec(line) ?? [];
    if (named) helps.set(named, help ?? "");
    const [, name, labels, value] = /^(\w+)(\{.*\})? (\S+)$/.exec(line) ?? [];
    if (!name || value === undefined || /_(bucket|sum|count)$/.test(name)) continue;
    const parts = [...(labels ?? "").matchAll(/(\w+)="([^"]*)"/g)].map(([, label, word]) => `${label}: ${word}`);
    const shown = parts.length > 0 ? ` ${parts.join(", ")}` : "";
    const number = Number(value);
    const [unit, size] = name.endsWith("_seconds") ? [" s", 1] : name.endsWith("_bytes") ? [" MB", 1e6] : ["", 1];
    figures.push({
      name: `${name}${labels ?? ""}`,
      help: `${helps.get(name) ?? name}${shown}`,
      // What is only there for its labels is always 1.
      value: name.endsWith("_info") ? "" : Number.isFinite(number) ? written(number / size) + unit : value,
    });
  }
  return figures;
}
