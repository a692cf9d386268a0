// What may run without asking: commands that a person has allowed by their beginning, and what a project brings along.

import { ask, at } from "./ask";
import type { Call } from "./view";
import { t } from "./words";

export type Scope = "conversation" | "project";

export interface Provided {
  kind: "hooks" | "skill" | "agent";
  /** Seen from the workspace. */
  path: string;
  /** Of the very text: when that changes, it is asked about again. */
  fingerprint: string;
}

export const providedWords = (): Record<Provided["kind"], string> => ({
  hooks: t("hooks: commands that run when the agent does something"),
  skill: t("a skill with commands in it"),
  agent: t("an agent that can be given tasks"),
});

export const allow = {
  addRule: (id: string, rule: string, scope: Scope) => ask("POST", `${at(id)}/allow_rules`, { rule, scope }),
  undecided: async (id: string) => (await ask<{ undecided: Provided[] }>("GET", `${at(id)}/trust`)).undecided,
  decide: (id: string, { fingerprint }: Provided, decision: "allow" | "deny") =>
    ask("POST", `${at(id)}/trust`, { fingerprint, decision }),
};

/** The beginning of a command that could be allowed from now on; null where no rule would cover it. */
export function ruleFor(call: Call): string | null {
  const { action } = call.event;
  const command = action?.kind === "TerminalAction" && !action["is_input"] ? action["command"] : null;
  if (typeof command !== "string" || /[;&|<>`\n]|\$/.test(command)) return null;
  const [verb, next] = command.trim().split(/\s+/);
  if (!verb || !/^[\w./-]+$/.test(verb)) return null;
  return next && /^[a-z][\w:-]*$/.test(next) ? `${verb} ${next}` : verb;
}
