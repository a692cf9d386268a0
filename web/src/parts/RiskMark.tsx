import type { Risk } from "../wire";

const WORDS: Record<Risk, string> = { UNKNOWN: "risk unknown", LOW: "low risk", MEDIUM: "medium risk", HIGH: "high risk" };

export function RiskMark({ risk }: { risk: Risk }) {
  return <span className={`risk risk-${risk.toLowerCase()}`}>{WORDS[risk] ?? risk}</span>;
}
