// Terminals as both panels show them. What programs write can colour them and move about in them, and do nothing else.

import { CanvasAddon } from "@xterm/addon-canvas";
import { FitAddon } from "@xterm/addon-fit";
import { type ITerminalOptions, Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";

/** Lines that can be scrolled back to. */
const SCROLLBACK = 5_000;

/** Opens a terminal that fills a place; `close` takes it away. */
export function openTerminal(place: HTMLElement, label: string, more: ITerminalOptions): { terminal: Terminal; close: () => void } {
  const { color, backgroundColor } = getComputedStyle(place);
  const terminal = new Terminal({
    fontSize: 13,
    minimumContrastRatio: 4.5,
    fontFamily: getComputedStyle(place).getPropertyValue("--mono").trim(),
    scrollback: SCROLLBACK,
    screenReaderMode: true,
    linkHandler: { activate: () => {} }, // links that programs write lead nowhere
    ...more,
    theme: { background: backgroundColor, foreground: color, cursor: more.disableStdin ? backgroundColor : color },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  // Before it is opened: the usual renderer would write styles into the page, which the content policy forbids.
  terminal.loadAddon(new CanvasAddon());
  terminal.open(place);
  terminal.textarea?.setAttribute("aria-label", label);
  fit.fit();
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(place);
  const close = () => {
    resized.disconnect();
    terminal.dispose();
  };
  return { terminal, close };
}
