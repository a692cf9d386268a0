import { Pause, Play, SkipBack, SkipForward, X } from "lucide-react";
import { useEffect, useState } from "react";
import type { Stream } from "../stream";
import type { View } from "../view";
import { t } from "../words";
import { Timeline } from "./Timeline";

/** So many steps are gone through; of longer conversations the last ones. */
const MAX_STEPS = 2_500;
const STEP_MS = 1_200;
const SPEEDS = [1, 2, 4] as const;

/** A conversation once more, step by step: what happened up to each of them, and nothing of what came after. */
export default function Replay({ view, stream, onClose }: { view: View; stream: Stream; onClose: () => void }) {
  const [step, setStep] = useState(1);
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const isLoading = view.hasEarlier && view.items.length < MAX_STEPS;
  const { earlier } = stream.fold; // a page may have nothing to show in it
  useEffect(() => {
    if (isLoading) void stream.load();
  }, [isLoading, earlier, stream]);
  const steps = view.items.slice(-MAX_STEPS);
  const shown = Math.min(step, steps.length);
  const isAtEnd = shown >= steps.length;
  useEffect(() => {
    if (!isPlaying || isLoading) return;
    if (isAtEnd) return setPlaying(false);
    const next = setTimeout(() => setStep(shown + 1), STEP_MS / speed);
    return () => clearTimeout(next);
  }, [isPlaying, isLoading, isAtEnd, shown, speed]);
  const play = () => {
    if (isAtEnd) setStep(1);
    setPlaying(!isPlaying);
  };
  if (isLoading) {
    return (
      <p className="note" role="status">
        {t("Loading…")}
      </p>
    );
  }
  const status = isAtEnd ? view.status : "running";
  const past: View = { ...view, status, items: steps.slice(0, shown), hasEarlier: false, draft: null, unsent: [] };
  return (
    <>
      <Timeline view={past} stream={stream} onSettle={() => {}} />
      <div className="player" role="group" aria-label={t("Step by step")}>
        <button className="quiet icon-only" aria-label={t("Previous step")} disabled={shown <= 1} onClick={() => setStep(shown - 1)}>
          <SkipBack />
        </button>
        <button className="primary icon-only" aria-label={isPlaying ? t("Pause") : t("Play")} onClick={play}>
          {isPlaying ? <Pause /> : <Play />}
        </button>
        <button className="quiet icon-only" aria-label={t("Next step")} disabled={isAtEnd} onClick={() => setStep(shown + 1)}>
          <SkipForward />
        </button>
        <input
          type="range"
          autoFocus
          aria-label={t("Step")}
          min={1}
          max={Math.max(1, steps.length)}
          value={shown}
          onChange={(event) => setStep(event.target.valueAsNumber)}
        />
        <output>{t("{n} of {all}", { n: shown, all: steps.length })}</output>
        <select aria-label={t("Speed")} value={speed} onChange={(event) => setSpeed(Number(event.target.value))}>
          {SPEEDS.map((each) => (
            <option key={each} value={each}>
              {each}×
            </option>
          ))}
        </select>
        <button className="quiet icon-only" aria-label={t("Back to the conversation")} title={t("Back to the conversation")} onClick={onClose}>
          <X />
        </button>
      </div>
    </>
  );
}
