import { useMemo } from "react";
import { coloured } from "./colours";

/** A text in the colours of its language. Loaded when it is needed. */
export default function Coloured({ text, name }: { text: string; name: string }) {
  return useMemo(() => coloured(text, name), [text, name]);
}
