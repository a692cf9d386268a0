import { memo } from "react";
import { runsOf } from "../ansi";

/** What a program wrote, in its colours. */
export const AnsiText = memo(function AnsiText({ text }: { text: string }) {
  return (
    <pre className="screen" tabIndex={0}>
      {runsOf(text).map((run, index) => (run.className ? <span key={index} className={run.className}>{run.text}</span> : run.text))}
    </pre>
  );
});
