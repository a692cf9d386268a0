import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { copied } from "../copy";
import { t } from "../words";

interface Props {
  text: () => string;
  /** Whether it is small: a picture alone, or with its word. */
  look?: "button" | "quiet" | "icon";
}

/** Copies a text, and says whether that could be done. */
export function CopyButton({ text, look = "button" }: Props) {
  const [outcome, setOutcome] = useState<"copied" | "failed" | null>(null);
  const words = { copied: t("Copied."), failed: t("The browser does not let this page copy. Mark the text and copy it.") };
  const label = outcome ? words[outcome] : t("Copy");
  const Icon = outcome === "copied" ? Check : Copy;
  return (
    <button
      type="button"
      className={{ button: "", quiet: "quiet", icon: "quiet icon-only" }[look]}
      aria-label={look === "icon" ? label : undefined}
      title={label}
      onClick={() => void copied(text()).then((isDone) => setOutcome(isDone ? "copied" : "failed"))}
      onBlur={() => setOutcome(null)}
    >
      {look !== "button" && <Icon />} {look !== "icon" && label}
      <span className="visually-hidden" role="status">
        {look === "icon" && outcome && label}
      </span>
    </button>
  );
}
