import { useEffect, useRef } from "react";
import { InlineCode } from "../parts/InlineCode";
import { t } from "../words";
import type { Finding } from "./server";

interface Check {
  data: Finding[] | undefined;
  error: Error | null;
  isPending: boolean;
}

const layers = (): Record<string, string> => ({
  name: t("name"),
  connection: t("connection"),
  TLS: t("TLS"),
  authentication: t("key"),
  model: t("model"),
  "token count": t("token count"),
  "tool calls": t("tool calls"),
  streaming: t("streaming"),
});

/** How far a model could be reached, layer by layer. */
export function Findings({ check }: { check: Check }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.scrollIntoView({ block: "nearest" }), [check.data]);
  if (check.isPending) return <p className="hint" role="status">{t("Testing…")}</p>;
  if (check.error) {
    return (
      <p role="alert" className="problem">
        {check.error.message}
      </p>
    );
  }
  if (!check.data) return null;
  return (
    <div role="status" ref={place}>
      <ul className="findings">
        {check.data.map(({ layer, ok, detail, remedy }) => (
          <li key={layer}>
            <span className={ok ? "good" : "bad"} role="img" aria-label={ok ? t("works") : t("fails")}>
              {ok ? "✓" : "✗"}
            </span>{" "}
            <strong>{layers()[layer] ?? layer}</strong> <InlineCode text={detail} />
            {remedy && (
              <span className="remedy">
                {" "}
                <InlineCode text={remedy} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
