// Which actions wait for a person's word, and who says how risky one is.

import { ask, on } from "./ask";
import { t } from "./words";

/** What must be allowed. */
export type Policy = "risky" | "always" | "never";
/** Who judges actions; the highest risk that one of them sees counts. */
export type Analyzer = "rules" | "model" | "judge";

const POLICIES = {
  risky: { kind: "ConfirmRisky" },
  always: { kind: "AlwaysConfirm" },
  never: { kind: "NeverConfirm" },
};

const MODEL = { kind: "LLMSecurityAnalyzer" };
const RULES = [MODEL, { kind: "PatternSecurityAnalyzer" }, { kind: "PolicyRailSecurityAnalyzer" }];
const ANALYZERS = {
  rules: { kind: "EnsembleSecurityAnalyzer", analyzers: RULES },
  model: MODEL,
  judge: { kind: "EnsembleSecurityAnalyzer", analyzers: [...RULES, { kind: "ToolShieldLLMSecurityAnalyzer" }] },
};

export const policyWords = (): Record<Policy, string> => ({
  risky: t("risky actions"),
  always: t("every action"),
  never: t("nothing"),
});

export const analyzerWords = (): Record<Analyzer, string> => ({
  rules: t("rules, and the model itself"),
  judge: t("rules, the model, and a second look by a model"),
  model: t("the model itself, alone"),
});

/** The policy that a kind of the server's is; null: one that is not offered here. */
export const policyOf = (kind: string): Policy | null =>
  (Object.keys(POLICIES) as Policy[]).find((policy) => POLICIES[policy].kind === kind) ?? null;

/** What a new conversation is told. */
export const safetyOf = (policy: Policy, analyzer: Analyzer) => ({
  confirmation_policy: POLICIES[policy],
  ...(policy !== "never" && { security_analyzer: ANALYZERS[analyzer] }),
});

/** Changes what waits in a conversation that goes on. Who judges there stays; where nobody does, it is the one given. */
export async function setSafety(id: string, policy: Policy, analyzer: Analyzer): Promise<void> {
  const { security_analyzer: judge } = await ask("get", "/api/conversations/{conversation_id}", on(id));
  if (policy !== "never" && !judge) {
    const body = { security_analyzer: ANALYZERS[analyzer] };
    await ask("post", "/api/conversations/{conversation_id}/security_analyzer", { ...on(id), body });
  }
  const body = { policy: POLICIES[policy] };
  await ask("post", "/api/conversations/{conversation_id}/confirmation_policy", { ...on(id), body });
}
