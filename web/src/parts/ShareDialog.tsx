import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { isOnlyHere } from "../devices";
import { moment } from "../numbers";
import { shares } from "../shares";
import { t } from "../words";
import { CopyButton } from "./CopyButton";
import { Dialog } from "./Dialog";

const DAY_S = 24 * 60 * 60;
/** How long links can be good for, in days. */
const DAYS = [1, 7, 30] as const;

/** Links that show a conversation to whoever has them. */
export default function ShareDialog({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const [days, setDays] = useState("7");
  const queries = useQueryClient();
  const queryKey = ["shares", id];
  const all = useQuery({ queryKey, queryFn: () => shares.list(id) });
  const onSuccess = () => queries.invalidateQueries({ queryKey });
  const create = useMutation({ mutationFn: () => shares.create(id, days ? Number(days) * DAY_S : null), onSuccess });
  const revoke = useMutation({ mutationFn: (share: string) => shares.revoke(id, share), onSuccess });
  const problem = create.error ?? revoke.error ?? all.error;
  return (
    <Dialog title={t("Share “{name}”", { name })} onClose={onClose}>
      <p>
        {t("Whoever has a link can follow this conversation but change nothing. Files, settings and the system prompt are not shown; known secrets are masked.")}
      </p>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <label className="inline">
          {t("Valid for")}
          <select value={days} onChange={(event) => setDays(event.target.value)}>
            {DAYS.map((each) => (
              <option key={each} value={each}>
                {each === 1 ? t("1 day") : t("{n} days", { n: each })}
              </option>
            ))}
            <option value="">{t("until it is revoked")}</option>
          </select>
        </label>
        <button className="primary" disabled={create.isPending}>
          {t("Make a link")}
        </button>
      </form>
      {create.data && (
        <div className="row" role="status">
          <input
            readOnly
            aria-label={t("The link, which is shown only once")}
            value={create.data}
            onFocus={(event) => event.target.select()}
          />
          <CopyButton text={() => create.data} />
          {isOnlyHere(location.hostname) && (
            <p className="hint">{t("This page has an address of this machine only. Open it by a name that the other device can reach, too.")}</p>
          )}
        </div>
      )}
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
      <ul className="list" aria-label={t("Links")}>
        {all.data?.map((share) => (
          <li key={share.id} className="row">
            <span className="list-title">
              {t("Made {time}", { time: moment(share.created_at) })}
              <br />
              <span className="hint">{share.expires_at && t("valid until {time}", { time: moment(share.expires_at) })}</span>
            </span>
            <button disabled={revoke.isPending} onClick={() => revoke.mutate(share.id)}>
              {t("Revoke")}
            </button>
          </li>
        ))}
      </ul>
      <div className="row end">
        <button onClick={onClose}>{t("Done")}</button>
      </div>
    </Dialog>
  );
}
