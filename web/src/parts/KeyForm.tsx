import { useState } from "react";
import { setKey } from "../key";

/** Asks for the key of the server, when the address did not bring it. */
export function KeyForm() {
  const [key, change] = useState("");
  return (
    <main id="main" className="key-form">
      <h1>Deft</h1>
      <p>
        This server wants a key. Open the link that <code>deft serve</code> printed when it was started for the first
        time, or enter the key here: it is in the file <code>session-key</code> of its data directory, usually{" "}
        <code>~/.deft/session-key</code>.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim()) setKey(key.trim());
        }}
      >
        <label>
          Key
          <input type="password" autoComplete="current-password" value={key} onChange={(e) => change(e.target.value)} />
        </label>
        <button className="primary">Continue</button>
      </form>
    </main>
  );
}
