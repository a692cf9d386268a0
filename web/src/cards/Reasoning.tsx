import { t } from "../words";
import { Output } from "./Output";

/** What the model thought before it said or did something, for who wants to know. */
export function Reasoning({ id, text }: { id: string; text: string | null | undefined }) {
  if (!text) return null;
  return (
    <details>
      <summary>{t("Reasoning")}</summary>
      <Output id={`${id}/reasoning`} text={text} />
    </details>
  );
}
