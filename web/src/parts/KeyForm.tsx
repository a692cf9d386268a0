import { useEffect, useState } from "react";
import { signInAddress } from "../ask";
import { setKey } from "../key";
import { t } from "../words";

/** Asks for the key of the server, when the address did not bring it. */
export function KeyForm() {
  const [key, change] = useState("");
  const [signIn, found] = useState<string | null>(null);
  useEffect(() => {
    void signInAddress().then(found);
  }, []);
  return (
    <main id="main" className="key-form">
      <h1>Deft</h1>
      {signIn && (
        <button type="button" className="primary" onClick={() => location.assign(signIn)}>
          {t("Sign in")}
        </button>
      )}
      <p>
        {t("This server wants a key. Open the link that it printed when it was started for the first time, or enter the key here: it is in the file session-key of its data directory, usually ~/.deft/session-key.")}
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim()) setKey(key.trim());
        }}
      >
        <label>
          {t("Key")}
          <input type="password" autoComplete="current-password" value={key} onChange={(e) => change(e.target.value)} />
        </label>
        <button className="primary">{t("Continue")}</button>
      </form>
    </main>
  );
}
