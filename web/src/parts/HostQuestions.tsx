import { useMutation } from "@tanstack/react-query";
import { allow, type AskedHost, type HostAnswer } from "../allow";
import { visibleControls } from "../plain";
import { t } from "../words";

/** Hosts that programs of the workspace wait for. */
export function HostQuestions({ id, questions }: { id: string; questions: AskedHost[] }) {
  const answer = useMutation({
    mutationFn: ([asked, word]: [AskedHost, HostAnswer]) => allow.answerHost(id, asked, word),
  });
  if (questions.length === 0) return null;
  return (
    <section className="confirm" aria-label={t("A program wants to reach the network")}>
      <h2>{t("May a program of the workspace reach this?")}</h2>
      <ul tabIndex={0} aria-label={t("Hosts")}>
        {questions.map((asked) => (
          <li key={`${asked.host}:${asked.port}`} className="row">
            <code>{visibleControls(`${asked.host}:${asked.port}`)}</code>
            <button disabled={answer.isPending} onClick={() => answer.mutate([asked, "once"])}>
              {t("Once")}
            </button>
            <button disabled={answer.isPending} onClick={() => answer.mutate([asked, "conversation"])}>
              {t("In this conversation")}
            </button>
            <button disabled={answer.isPending} onClick={() => answer.mutate([asked, "project"])}>
              {t("In this project")}
            </button>
            <button disabled={answer.isPending} onClick={() => answer.mutate([asked, "deny"])}>
              {t("Deny")}
            </button>
          </li>
        ))}
      </ul>
      <p className="hint">{t("The program waits for two minutes at most; then it is refused.")}</p>
      {answer.isError && (
        <p role="alert" className="problem">
          {answer.error.message}
        </p>
      )}
    </section>
  );
}
