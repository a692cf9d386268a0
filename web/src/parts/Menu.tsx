import { type ReactNode, useId, useRef } from "react";

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
  const step = (by: number) => {
    const all = [...(list.current?.querySelectorAll("button") ?? [])];
    const now = all.findIndex((each) => each === document.activeElement);
    all.at((now + by) % all.length)?.focus();
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
          if (event.key === "ArrowDown") step(1);
          else if (event.key === "ArrowUp") step(-1);
          else return;
          event.preventDefault();
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
