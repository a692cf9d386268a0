import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import { common, createLowlight } from "lowlight";
import { useMemo } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";

const lowlight = createLowlight(common);
/** Longer texts are shown plain. */
const MAX_LETTERS = 300_000;
const LANGUAGES: Record<string, string> = { tsx: "typescript", jsx: "javascript", mjs: "javascript", htm: "xml", html: "xml", svg: "xml", toml: "ini" };

/** A text in the colours of its language, which is named as people name it or as files end. Loaded when it is needed. */
export default function Coloured({ text, name }: { text: string; name: string }) {
  const language = LANGUAGES[name] ?? name;
  return useMemo(() => {
    if (!lowlight.registered(language) || text.length > MAX_LETTERS) return text;
    return toJsxRuntime(lowlight.highlight(language, text), { Fragment, jsx, jsxs });
  }, [text, language]);
}
