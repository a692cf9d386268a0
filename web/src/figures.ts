// Figures of the server, as Prometheus writes them.

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
    if (!name || value === undefined || /_(bucket|sum)$/.test(name)) continue;
    const shown = labels ? ` ${labels.slice(1, -1).replaceAll('"', "").replaceAll("=", ": ")}` : "";
    const number = Number(value);
    figures.push({
      name: `${name}${labels ?? ""}`,
      help: `${helps.get(name) ?? name}${shown}`,
      value: Number.isFinite(number) ? Intl.NumberFormat("en", { maximumFractionDigits: 1 }).format(number) : value,
    });
  }
  return figures;
}
