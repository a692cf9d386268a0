// Where a conversation is followed: with the key to the server, or as whoever has a link to it.

import { api, type HistoryPage } from "./api";
import { filled, Refused, request } from "./ask";
import { useKey } from "./key";
import { arrivedEnd, endOf } from "./opening";

export interface Source {
  /** The path of its socket. */
  socket: string;
  /** What the first frame shows. */
  auth: () => object;
  /** The end of the log, if it came before it was asked for. */
  arrived: () => HistoryPage | null;
  /** The end of the log. */
  end: () => Promise<HistoryPage>;
  /** What stands before a position. */
  before: (seq: number | null) => Promise<HistoryPage>;
  /** Whether what is shown opens nothing any more: a socket is closed with the same word where it only came too late. */
  isRefused: () => Promise<boolean>;
}

export const ownSource = (id: string): Source => ({
  socket: `/sockets/session/${id}`,
  auth: () => ({ session_api_key: useKey.getState().key ?? "" }),
  arrived: () => arrivedEnd(id),
  end: () => endOf(id),
  before: (seq) => api.history(id, seq),
  async isRefused() {
    await api.get(id).catch(() => {}); // which drops a key that is not good any more
    return useKey.getState().key === null;
  },
});

export function sharedSource(token: string): Source {
  const before = async (seq: number | null) => {
    const address = filled("/api/shared/history", {}, { limit: 100, before_seq: seq });
    return (await (await request(address, { headers: { "X-Share-Token": token } })).json()) as HistoryPage;
  };
  return {
    socket: "/sockets/shared",
    auth: () => ({ share_token: token }),
    arrived: () => null,
    end: () => before(null),
    before,
    isRefused: () =>
      before(null).then(
        () => false,
        (error: unknown) => error instanceof Refused && error.status === 401,
      ),
  };
}
