import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import { common, createLowlight } from "lowlight";
import { useMemo } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";
import { t } from "../words";

const lowlight = createLowlight(common);
/** Longer texts are shown plain. */
const MAX_LETTERS = 300_000;
const LANGUAGES: Record<string, string> = { tsx: "typescript", jsx: "javascript", mjs: "javascript", htm: "xml", html: "xml", svg: "xml", toml: "ini" };

/** A text in the colours of its language, with line numbers. */
export default function Code({ text, ending }: { text: string; ending: string }) {
  const language = LANGUAGES[ending] ?? ending;
  const coloured = useMemo(() => {
    if (!lowlight.registered(language) || text.length > MAX_LETTERS) return text;
    return toJsxRuntime(lowlight.highlight(language, text), { Fragment, jsx, jsxs });
  }, [text, language]);
  const lines = text.split("\n").length;
  return (
    <div className="code" tabIndex={0} role="group" aria-label={t("Content")}>
      <pre aria-hidden="true" className="numbers">
        {Array.from({ length: lines }, (_, index) => index + 1).join("\n")}
      </pre>
      <pre>
        <code>{coloured}</code>
      </pre>
    </div>
  );
}
