// What may run without asking: commands that a person has allowed by their beginning, and what a project brings along.

import { type Answer, ask, on } from "./ask";
import type { components } from "./generated/api";
import type { Call } from "./view";
import { t } from "./words";

export type Rule = components["schemas"]["AllowRule"];
export type Scope = Rule["scope"];

/** Its path is seen from the workspace; its fingerprint is of the very text: when that changes, it is asked about again. */
export type Provided = components["schemas"]["Provided"];

/** A host that a program wants to reach and no rule names. */
export type AskedHost = components["schemas"]["AskedHost"];
export type HostAnswer = "once" | Scope | "deny";

/** The same, and what was decided about it. */
type ProvidedDecision = components["schemas"]["ProvidedDecision"];
export type Decision = ProvidedDecision["decision"];

/** What was decided, and in which conversation that is known. */
export interface Decided extends ProvidedDecision {
  conversation: string;
}

type Trust = Answer<"get", "/api/conversations/{conversation_id}/trust">;

export const providedWords = (): Record<Provided["kind"], string> => ({
  hooks: t("hooks: commands that run when the agent does something"),
  skill: t("a skill with commands in it"),
  agent: t("an agent that can be given tasks"),
  servers: t("MCP servers: programs that give the agent tools"),
});

export const allow = {
  rules: async (id: string) => (await ask("get", "/api/conversations/{conversation_id}/allow_rules", on(id))).rules,
  addRule: (id: string, rule: string, scope: Scope) =>
    ask("post", "/api/conversations/{conversation_id}/allow_rules", { ...on(id), body: { rule, scope } }),
  removeRule: (id: string, rule: string) =>
    ask("delete", "/api/conversations/{conversation_id}/allow_rules", { ...on(id), query: { rule } }),
  hosts: async (id: string) => (await ask("get", "/api/conversations/{conversation_id}/allowed_hosts", on(id))).rules,
  removeHost: (id: string, host: string) =>
    ask("delete", "/api/conversations/{conversation_id}/allowed_hosts", { ...on(id), query: { host } }),
  answerHost: (id: string, { host, port }: AskedHost, answer: HostAnswer) =>
    ask("post", "/api/conversations/{conversation_id}/host_questions", { ...on(id), body: { host, port, answer } }),
  trust: (id: string) => ask("get", "/api/conversations/{conversation_id}/trust", on(id)),
  decide: (id: string, fingerprint: string, decision: Decision | "forget") =>
    ask("post", "/api/conversations/{conversation_id}/trust", { ...on(id), body: { fingerprint, decision } }),
};

/** All decisions that are known: those of this browser, and what the server tells of a conversation, which is right where
 * both know of one. */
export function allDecisions(own: readonly Decided[], conversation: string, told: Trust): Decided[] {
  const isTold = ({ fingerprint }: Provided) => [...told.decided, ...told.undecided].some((other) => other.fingerprint === fingerprint);
  return [...told.decided.map((made) => ({ ...made, conversation })), ...own.filter((made) => !isTold(made))];
}

/** The beginning of a command that could be allowed from now on; null where no rule would cover it. */
export function ruleFor(call: Call): string | null {
  const { action } = call.event;
  const command = action?.kind === "TerminalAction" && !action["is_input"] ? action["command"] : null;
  if (typeof command !== "string" || /[;&|<>`\n]|\$/.test(command)) return null;
  const [verb, next] = command.trim().split(/\s+/);
  if (!verb || !/^[\w./-]+$/.test(verb)) return null;
  return next && /^[a-z][\w:-]*$/.test(next) ? `${verb} ${next}` : verb;
}
