import { useState } from "react";
import { send } from "../ask";
import { forgetKey, IN_COOKIE, useKey } from "../key";
import { beep } from "../notify";
import { type Theme, usePreferences } from "../preferences";
import { themeWords } from "../themes";
import { LANGUAGES, t } from "../words";
import { DeviceSettings } from "./DeviceSettings";

/** What holds for this browser alone. */
export function BrowserSettings({ onClose }: { onClose: () => void }) {
  const { theme, language, notify, sound } = usePreferences();
  const set = usePreferences.setState;
  const isSignedIn = useKey((state) => state.key === IN_COOKIE);
  const [isRefused, setRefused] = useState(false);
  const askToNotify = async (wanted: boolean) => {
    const isAllowed = wanted && typeof Notification !== "undefined" && (await Notification.requestPermission()) === "granted";
    set({ notify: isAllowed });
    setRefused(wanted && !isAllowed);
  };
  return (
    <>
      <form onSubmit={(event) => event.preventDefault()}>
        <label>
          {t("Appearance")}
          <select value={theme} onChange={(event) => set({ theme: event.target.value as Theme })}>
            {Object.entries(themeWords()).map(([name, words]) => (
              <option key={name} value={name}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <label>
          {t("Language")}
          <select value={language} onChange={(event) => set({ language: event.target.value })}>
            <option value="">{t("same as the browser")}</option>
            {Object.entries(LANGUAGES).map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label className="inline">
          <input type="checkbox" checked={notify} onChange={(event) => void askToNotify(event.target.checked)} />
          {t("Notify me when a conversation needs me or has ended")}
        </label>
        {isRefused && (
          <p role="alert" className="problem">
            {t("The browser does not let this page notify you. Allow it in the browser’s settings of this page, or choose a sound.")}
          </p>
        )}
        <label className="inline">
          <input
            type="checkbox"
            checked={sound}
            onChange={(event) => {
              set({ sound: event.target.checked });
              if (event.target.checked) beep();
            }}
          />
          {t("Play a sound")}
        </label>
        <div className="row">
          <button
            type="button"
            onClick={() => {
              onClose();
              if (isSignedIn) void send("post", "/api/auth/logout").catch(() => {}).finally(forgetKey);
              else forgetKey();
            }}
          >
            {isSignedIn ? t("Sign out") : t("Forget the server’s key")}
          </button>
        </div>
      </form>
      <DeviceSettings />
    </>
  );
}
