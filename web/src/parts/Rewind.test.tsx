// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { api } from "../api";
import { type Desk, DeskContext } from "../desk";
import { EMPTY, type View } from "../view";
import { workspace } from "../workspace";
import Rewind from "./Rewind";

beforeEach(() => vi.spyOn(workspace, "checkpoints").mockResolvedValue([{ id: 4, message_id: "m" }] as never));
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const view: View = { ...EMPTY, items: [{ type: "message", id: "m", time: "", from: "user", text: "do it", images: ["data:image/png;base64,AA"] }] };
const stream = { parentOf: async () => "before", fold: { standing: "leaf" } };
const desk = { id: "c", stream, write: vi.fn() } as unknown as Desk;

function show(onRewound = vi.fn(), onClose = vi.fn()) {
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  render(
    <QueryClientProvider client={new QueryClient()}>
      <DeskContext value={desk}>
        <Rewind view={view} message="m" onRewound={onRewound} onClose={onClose} />
      </DeskContext>
    </QueryClientProvider>,
  );
  return { onRewound, onClose };
}

test("where the files went back and the conversation did not, it says so and takes the files back again", async () => {
  vi.spyOn(workspace, "preview").mockResolvedValue([]);
  const restore = vi.spyOn(workspace, "restore").mockResolvedValue({ undo: 9, failed: [] } as never);
  const navigate = vi.spyOn(api, "navigate").mockRejectedValueOnce(new Error("it runs")).mockResolvedValue({} as never);
  const { onRewound, onClose } = show();
  await waitFor(() => expect((screen.getByRole("button", { name: "Rewind", hidden: true }) as HTMLButtonElement).disabled).toBe(false));
  fireEvent.submit(screen.getByText("What goes back").closest("form") as HTMLFormElement);
  await screen.findByText("The files went back, but not the conversation: it runs");
  expect(onRewound).not.toHaveBeenCalled();
  fireEvent.click(screen.getByText("Undo it"));
  await waitFor(() => expect(onClose).toHaveBeenCalled());
  expect(restore.mock.calls).toEqual([
    ["c", 4, false],
    ["c", 9, false],
  ]);
  expect(navigate).toHaveBeenLastCalledWith("c", "leaf");
});

test("what was said goes back to where messages are written, with its pictures", async () => {
  vi.spyOn(workspace, "preview").mockResolvedValue([]);
  vi.spyOn(workspace, "restore").mockResolvedValue({ undo: 9, failed: [] } as never);
  vi.spyOn(api, "navigate").mockResolvedValue({} as never);
  const { onRewound } = show();
  await waitFor(() => expect((screen.getByRole("button", { name: "Rewind", hidden: true }) as HTMLButtonElement).disabled).toBe(false));
  fireEvent.submit(screen.getByText("What goes back").closest("form") as HTMLFormElement);
  await waitFor(() => expect(onRewound).toHaveBeenCalled());
  expect(desk.write).toHaveBeenCalledWith("do it", ["data:image/png;base64,AA"]);
});
