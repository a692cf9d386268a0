import { type ReactNode, useId, useRef } from "react";
import { stepTo } from "../steps";

export interface MenuItem {
  label: string;
  onChoose: () => void;
  isDangerous?: boolean;
}

/** A button that opens a list of things to do. The browser closes it on Escape and on clicks elsewhere. */
export function Menu({ label, items, children }: { label: string; items: MenuItem[]; children: ReactNode }) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const place = () => {
    const [from, menu] = [button.current?.getBoundingClientRect(), list.current];
    if (!from || !menu) return;
    menu.style.top = `${Math.min(from.bottom + 2, innerHeight - menu.offsetHeight - 8)}px`;
    menu.style.left = `${Math.max(8, Math.min(from.left, innerWidth - menu.offsetWidth - 8))}px`;
    menu.querySelector("button")?.focus();
  };
  const step = (key: string): boolean => {
    const all = [...(list.current?.querySelectorAll("button") ?? [])];
    const to = stepTo(key, all.findIndex((each) => each === document.activeElement), all.length);
    if (to !== null) all[to]?.focus();
    return to !== null;
  };
  return (
    <>
      <button ref={button} className="quiet" popoverTarget={id} aria-label={label} aria-haspopup="menu">
        {children}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        className="menu"
        onToggle={(event) => event.newState === "open" && place()}
        onKeyDown={(event) => {
          if (step(event.key)) event.preventDefault();
          // The focus is back at the button then, and goes on from there.
          else if (event.key === "Tab") list.current?.hidePopover();
        }}
      >
        {items.map((item) => (
          <button
            key={item.label}
            role="menuitem"
            className={item.isDangerous ? "bad" : ""}
            onClick={() => {
              list.current?.hidePopover();
              item.onChoose();
            }}
          >
            {item.label}
          </button>
        ))}
      </div>
    </>
  );
}
