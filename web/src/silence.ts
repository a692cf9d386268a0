// Notices that a connection has died without a word: the machine slept, or the network went away.

/** The server says every 20 s that it is there. */
export const SILENCE_LIMIT_MS = 60_000;
export const TICK_MS = 10_000;

/** Says once that a socket has given no sign for too long since the first one. `heard`: it has given one; `forget`: it is over. */
export function onSilence(say: () => void): { heard: () => void; forget: () => void } {
  let heardAt = Infinity; // a workspace may have to be started before there is a first one
  const ticking = setInterval(() => {
    if (Date.now() - heardAt <= SILENCE_LIMIT_MS) return;
    forget();
    say();
  }, TICK_MS);
  const forget = () => clearInterval(ticking);
  return { heard: () => (heardAt = Date.now()), forget };
}
