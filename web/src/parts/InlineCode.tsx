import { Fragment } from "react";
import { visibleControls } from "../plain";

/** A sentence of the server's, in which what stands between backticks is code. */
export function InlineCode({ text }: { text: string }) {
  return visibleControls(text)
    .split(/`([^`\n]+)`/)
    .map((part, index) => (index % 2 ? <code key={index}>{part}</code> : <Fragment key={index}>{part}</Fragment>));
}
