import { visibleControls } from "../plain";
import { type CriticResult } from "../wire";
import { t } from "../words";

/** What a critic thinks of a result, or of an action. */
export function CriticNote({ critic }: { critic: CriticResult | null | undefined }) {
  if (!critic) return null;
  return (
    <p className="hint spent">
      {t("Critic: {share} %", { share: Math.round(critic.score * 100) })}
      {critic.message && ` · ${visibleControls(critic.message)}`}
    </p>
  );
}
