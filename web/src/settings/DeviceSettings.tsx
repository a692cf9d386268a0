import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { encode } from "uqr";
import { type Device, devices, isOnlyHere, type Rights, rightsOf, rightsWords } from "../devices";
import { moment } from "../numbers";
import { CopyButton } from "../parts/CopyButton";
import { t } from "../words";

/** How long devices can be let in for, in days. */
const DAYS = [1, 7, 30, 90] as const;

/** Lets a telephone or another browser in, by a code that its camera reads. */
export function DeviceSettings() {
  const [rights, setRights] = useState<Rights>("steer");
  const [days, setDays] = useState(30);
  const queries = useQueryClient();
  const queryKey = ["devices"];
  const all = useQuery({ queryKey, queryFn: devices.list, retry: false });
  const onSuccess = () => queries.invalidateQueries({ queryKey });
  const pair = useMutation({ mutationFn: () => devices.pair(rights, days), onSuccess, gcTime: 0 });
  const remove = useMutation({ mutationFn: ({ id }: Device) => devices.remove(id), onSuccess });
  const problem = pair.error ?? remove.error ?? all.error;
  return (
    <fieldset>
      <legend>{t("Another device")}</legend>
      <p className="hint">{t("Let your telephone in: it reads a code with its camera and gets a key of its own, which you can revoke.")}</p>
      {isOnlyHere(location.hostname) && (
        <p className="hint">{t("This page has an address of this machine only. Open it by a name that the other device can reach, too.")}</p>
      )}
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          pair.mutate();
        }}
      >
        <label className="inline">
          {t("It may")}
          <select value={rights} onChange={(event) => setRights(event.target.value as Rights)}>
            {Object.entries(rightsWords()).map(([name, words]) => (
              <option key={name} value={name}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <label className="inline">
          {t("Valid for")}
          <select value={days} onChange={(event) => setDays(Number(event.target.value))}>
            {DAYS.map((each) => (
              <option key={each} value={each}>
                {each === 1 ? t("1 day") : t("{n} days", { n: each })}
              </option>
            ))}
          </select>
        </label>
        <button disabled={pair.isPending}>{t("Show the code")}</button>
      </form>
      {pair.data && (
        <div className="pairing" role="status">
          <Code text={pair.data} />
          <div>
            <p>{t("Point the camera of the other device at it. It is shown only once.")}</p>
            <CopyButton text={() => pair.data} />
          </div>
        </div>
      )}
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
      <ul className="list" aria-label={t("Devices")}>
        {all.data?.map((device) => (
          <li key={device.id} className="row">
            <span className="list-title">
              {t("Made {time}", { time: moment(device.created_at) })}{" "}
              <span className="hint">
                {rightsWords()[rightsOf(device)]}
                {device.expires_at && `, ${t("valid until {time}", { time: moment(device.expires_at) })}`}
              </span>
            </span>
            <button disabled={remove.isPending} onClick={() => remove.mutate(device)}>
              {t("Revoke")}
            </button>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

/** A text as a square of dots, dark on light whatever the appearance: cameras expect that. */
function Code({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return (
    <svg className="code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={t("The code for the other device")} shapeRendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
