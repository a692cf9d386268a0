// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, expect, test } from "vitest";
import { useFocusBack, useFocusLeft } from "./focus-back";

afterEach(cleanup);

function Form({ onClose }: { onClose: () => void }) {
  useFocusBack();
  return <input autoFocus aria-label="field" onKeyDown={onClose} />;
}

function Page() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button onClick={() => setOpen(true)}>open</button>
      <button>other</button>
      {isOpen && <Form onClose={() => setOpen(false)} />}
    </>
  );
}

test("what is closed gives the focus back, unless that is elsewhere by then", () => {
  render(<Page />);
  const [opener, other] = [screen.getByText("open"), screen.getByText("other")];
  for (const wanted of [opener, other]) {
    opener.focus();
    fireEvent.click(opener);
    const field = screen.getByLabelText("field");
    expect(document.activeElement).toBe(field);
    if (wanted === other) other.focus();
    fireEvent.keyDown(field, { key: "Escape" });
    expect(document.activeElement).toBe(wanted);
  }
});

function Question({ isAsked }: { isAsked: boolean }) {
  useFocusLeft(String(isAsked), () => screen.getByLabelText("message").focus());
  return (
    <>
      {isAsked && <button>allow</button>}
      <button>other</button>
      <input aria-label="message" />
    </>
  );
}

test("what takes the focus away with it leaves it to the field, and no other does", () => {
  const { rerender } = render(<Question isAsked />);
  screen.getByText("allow").focus();
  rerender(<Question isAsked={false} />);
  expect(document.activeElement).toBe(screen.getByLabelText("message"));
  rerender(<Question isAsked />);
  screen.getByText("other").focus();
  rerender(<Question isAsked={false} />);
  expect(document.activeElement).toBe(screen.getByText("other"));
});
