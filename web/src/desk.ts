// What the parts of a conversation's page share: which one it is, and how to do something about it.

import { createContext, useContext } from "react";
import type { Stream } from "./stream";

export interface Desk {
  id: string;
  stream: Stream;
  /** Sends a message; what goes wrong is shown beside the message. Once more under the id that it had. */
  send: (text: string, images: string[], message?: string) => Promise<void>;
  /** Says it when the turn ends, in the same way. */
  queue: (text: string, images: string[], message?: string) => Promise<void>;
  /** Puts a message where messages are written, unless another was begun there. */
  write: (text: string, images: string[]) => void;
  /** Opens the dialog that goes back to before a message. */
  rewind: (message: string) => void;
  /** Tells the user about something that failed; null: that is over. */
  complain: (error: unknown) => void;
}

export const DeskContext = createContext<Desk | null>(null);

/** None: whoever looks can only look. */
export const useDeskIfAny = (): Desk | null => useContext(DeskContext);

export function useDesk(): Desk {
  const desk = useDeskIfAny();
  if (!desk) throw new Error("this is not part of a conversation's page");
  return desk;
}
