import { useEffect, useState } from "react";
import { signInAddress } from "../ask";
import { setKey, useKey } from "../key";
import { t } from "../words";

/** Asks for the key of the server, when the address did not bring it. */
export function KeyForm() {
  const [key, change] = useState("");
  const [signIn, found] = useState<string | null>(null);
  const isRefused = useKey((state) => state.isRefused);
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
          <input type="password" required autoComplete="current-password" value={key} onChange={(e) => change(e.target.value)} />
        </label>
        {isRefused && (
          <p role="alert" className="problem">
            {t("The server does not accept this key (any more).")}
          </p>
        )}
        <button className={signIn ? "" : "primary"}>{t("Continue")}</button>
      </form>
    </main>
  );
}
