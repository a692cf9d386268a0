// Says that a conversation needs somebody, or is done, to who looks elsewhere.

import { usePreferences } from "./preferences";
import { go } from "./route";
import type { Status } from "./wire";
import { t } from "./words";

const known = new Map<string, Status>();
/** When the page was opened: what happened before is no news. */
const OPENED = Date.now();

const messages = (): Partial<Record<Status, string>> => ({
  waiting_for_confirmation: t("needs you"),
  finished: t("is finished"),
  error: t("has failed"),
  stuck: t("goes in circles"),
});

/** Whether a status is news that somebody should hear of. Short work may begin and end between two looks, so what counts is
 * that it is another one; where none was known, that it is from after the page was opened. */
export function isNews(before: Status | undefined, now: Status, isFresh: boolean): boolean {
  return now in messages() && (before === undefined ? isFresh : before !== now);
}

/** Takes note of a status. `updated`: when the conversation last changed, for who does not look at it; `why`: other words
 * than those of the status. */
export function noteStatus(id: string, title: string, status: Status, updated?: string, why = messages()[status]): void {
  const before = known.get(id);
  known.set(id, status);
  const isFresh = updated !== undefined && Date.parse(updated) > OPENED;
  if (isNews(before, status, isFresh)) tell(id, `${title} ${why}`);
}

/** Something is asked in the middle of a run. */
export const noteQuestion = (id: string, title: string): void => tell(id, `${title} ${t("needs you")}`);

function tell(id: string, words: string): void {
  if (document.hasFocus()) return;
  const { notify, sound } = usePreferences.getState();
  if (sound) beep();
  if (!notify || typeof Notification === "undefined" || Notification.permission !== "granted") return;
  try {
    const shown = new Notification(words, { tag: id });
    shown.onclick = () => {
      window.focus();
      go(id);
      shown.close();
    };
  } catch {
    // Browsers of telephones let only service workers show one.
    if (!sound) beep();
  }
}

/** Two short tones. */
export function beep(): void {
  const audio = new AudioContext();
  for (const [index, pitch] of [660, 880].entries()) {
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    volume.gain.value = 0.05;
    tone.frequency.value = pitch;
    tone.connect(volume).connect(audio.destination);
    tone.start(audio.currentTime + index * 0.14);
    tone.stop(audio.currentTime + index * 0.14 + 0.11);
  }
  setTimeout(() => void audio.close(), 500);
}
