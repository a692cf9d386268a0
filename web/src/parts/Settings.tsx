import { useQuery } from "@tanstack/react-query";
import { api } from "../api";
import { dropKey } from "../key";
import { type Theme, usePreferences } from "../preferences";
import { useScreen } from "../screen";
import { Dialog } from "./Dialog";
import { ModelFields } from "./ModelFields";

/** What holds for new conversations and for this browser. */
export default function Settings() {
  const theme = usePreferences((preferences) => preferences.theme);
  const offer = useQuery({ queryKey: ["offer"], queryFn: api.offer, staleTime: Infinity });
  const close = () => useScreen.setState({ dialog: null });
  return (
    <Dialog title="Settings" onClose={close}>
      <form method="dialog">
        <fieldset>
          <legend>New conversations</legend>
          <ModelFields offer={offer.data} />
        </fieldset>
        <fieldset>
          <legend>This browser</legend>
          <label>
            Appearance
            <select
              value={theme}
              onChange={(event) => usePreferences.setState({ theme: event.target.value as Theme })}
            >
              <option value="system">as the system</option>
              <option value="light">light</option>
              <option value="dark">dark</option>
            </select>
          </label>
          <button
            type="button"
            onClick={() => {
              close();
              dropKey();
            }}
          >
            Forget the server’s key
          </button>
        </fieldset>
        <div className="row end">
          <button className="primary">Done</button>
        </div>
      </form>
    </Dialog>
  );
}
