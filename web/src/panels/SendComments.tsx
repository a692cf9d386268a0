import { asMessage, useComments } from "../comments";
import { t } from "../words";

interface Props {
  id: string;
  /** Whether something waits for a word, which a message rejects. */
  isAsked: boolean;
  onSend: (text: string, images: string[]) => Promise<void>;
}

/** Tells the agent what was remarked on lines. */
export function SendComments({ id, isAsked, onSend }: Props) {
  const comments = useComments((all) => all[id]) ?? [];
  if (comments.length === 0) return null;
  return (
    <div className="row foot" role="status">
      <span>{comments.length === 1 ? t("1 comment") : t("{n} comments", { n: comments.length })}</span>
      {isAsked && <span className="hint">{t("An action waits for you. It is not done if you send this.")}</span>}
      <button
        className={isAsked ? "danger" : "primary"}
        onClick={() => {
          useComments.setState({ [id]: [] });
          void onSend(asMessage(comments), []);
        }}
      >
        {isAsked ? t("Send instead") : t("Send to the agent")}
      </button>
    </div>
  );
}
