import type { Terminal } from "@xterm/xterm";
import { useEffect, useRef } from "react";
import { useDark } from "../themes";
import { t } from "../words";
import { openTerminal } from "./xterm";

/** A terminal to look at, with a text that grows. */
export default function Screen({ text, label }: { text: string; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<{ terminal: Terminal; written: string } | null>(null);
  const isDark = useDark();

  useEffect(() => {
    if (!place.current) return;
    const { terminal, close } = openTerminal(place.current, t("Text of the terminal"), {
      convertEol: true,
      disableStdin: true,
      cursorInactiveStyle: "none",
    });
    shown.current = { terminal, written: "" };
    return () => {
      shown.current = null;
      close();
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
