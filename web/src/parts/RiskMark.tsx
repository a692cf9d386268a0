import type { Risk } from "../wire";
import { t } from "../words";

const words = (): Record<Risk, string> => ({
  UNKNOWN: t("risk unknown"),
  LOW: t("low risk"),
  MEDIUM: t("medium risk"),
  HIGH: t("high risk"),
});

export function RiskMark({ risk }: { risk: Risk }) {
  return <span className={`risk risk-${risk.toLowerCase()}`}>{words()[risk] ?? risk}</span>;
}
