import { Markdown } from "../parts/Markdown";
import { visibleControls } from "../plain";
import type { Call } from "../view";

/** What another agent is to do. Until that is answered somebody may have to judge it, and as Markdown it would hide HTML and
 * definitions of links. */
export function Orders({ call, text }: { call: Call; text: string }) {
  const whole = visibleControls(text);
  return call.result ? <Markdown text={whole} /> : <pre className="output" tabIndex={0}>{whole}</pre>;
}
