/** A name that nothing else has. `crypto.randomUUID` is not there on pages without TLS. */
export function freshId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
