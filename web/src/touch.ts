import { isKey } from "./keys";

export const isTouched = () => matchMedia("(pointer: coarse)").matches;

/** Whether a key sends what is written. Keyboards on glass have no Shift+Enter: there Enter makes a new line, and the button
 * sends. */
export const isSending = (event: KeyboardEvent) => isKey(event, "send") && !(event.key === "Enter" && isTouched());
