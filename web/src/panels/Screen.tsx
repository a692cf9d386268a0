import { CanvasAddon } from "@xterm/addon-canvas";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef } from "react";
import { useDark } from "../themes";
import { t } from "../words";

/** Lines that can be scrolled back to. */
const SCROLLBACK = 5_000;

/** A terminal to look at. What programs write can colour it and move about in it, and do nothing else. */
export default function Screen({ text, label }: { text: string; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<{ terminal: Terminal; written: string } | null>(null);
  const isDark = useDark();

  useEffect(() => {
    const parent = place.current;
    if (!parent) return;
    const terminal = new Terminal({
      convertEol: true,
      disableStdin: true,
      cursorInactiveStyle: "none",
      fontSize: 13,
      minimumContrastRatio: 4.5,
      fontFamily: style(parent, "--mono"),
      scrollback: SCROLLBACK,
      screenReaderMode: true,
      linkHandler: { activate: () => {} }, // links that programs write lead nowhere
      theme: themeOf(parent),
    });
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    // Before it is opened: the usual renderer would write styles into the page, which the content policy forbids.
    terminal.loadAddon(new CanvasAddon());
    terminal.open(parent);
    terminal.textarea?.setAttribute("aria-label", t("Text of the terminal"));
    shown.current = { terminal, written: "" };
    const resized = new ResizeObserver(() => fit.fit());
    resized.observe(parent);
    return () => {
      resized.disconnect();
      shown.current = null;
      terminal.dispose();
    };
  }, [isDark]);

  useEffect(() => {
    const screen = shown.current;
    if (!screen || screen.written === text) return;
    if (!text.startsWith(screen.written)) {
      screen.terminal.reset();
      screen.written = "";
    }
    screen.terminal.write(text.slice(screen.written.length));
    screen.written = text;
  }, [text, isDark]);

  return <div ref={place} className="terminal" role="group" aria-label={label} />;
}

const style = (of: Element, name: string) => getComputedStyle(of).getPropertyValue(name).trim();

function themeOf(place: Element) {
  const { color, backgroundColor } = getComputedStyle(place);
  return { background: backgroundColor, foreground: color, cursor: backgroundColor };
}
