import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { usePreferences } from "../preferences";
import { t } from "../words";
import { chatgpt, type DeviceLogin } from "./chatgpt";
import { server } from "./server";

const STATUS = ["chatgpt"];

/** A login to ChatGPT, whose subscription then pays for models. */
export function ChatGptSettings() {
  const queries = useQueryClient();
  const status = useQuery({ queryKey: STATUS, queryFn: chatgpt.status });
  const start = useMutation({ mutationFn: chatgpt.start });
  const leave = useMutation({
    mutationFn: chatgpt.logOut,
    onSuccess: (now) => queries.setQueryData(STATUS, now),
  });
  const problem = status.error ?? start.error ?? leave.error;
  return (
    <fieldset>
      <legend>{t("ChatGPT subscription")}</legend>
      <p className="hint">{t("A ChatGPT plan can pay for models in the place of a key. The login stays on the server.")}</p>
      {status.data?.connected ? (
        <>
          <div className="row">
            <span className="list-title good" role="status">
              {t("Logged in as {name}.", { name: status.data.account_email ?? "ChatGPT" })}
            </span>
            <button disabled={leave.isPending} onClick={() => leave.mutate()}>
              {t("Log out")}
            </button>
          </div>
          <PaidModel />
        </>
      ) : (
        status.isSuccess && (
          <>
            {start.data && <Agreement login={start.data} onAgreed={start.reset} />}
            <button disabled={start.isPending} onClick={() => start.mutate()}>
              {start.data ? t("Get another code") : t("Log in with ChatGPT")}
            </button>
          </>
        )
      )}
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
    </fieldset>
  );
}

/** The code, and where to enter it; asks again and again whether that was done. */
function Agreement({ login, onAgreed }: { login: DeviceLogin; onAgreed: () => void }) {
  const queries = useQueryClient();
  const poll = useQuery({
    queryKey: ["chatgpt-login", login.device_code],
    queryFn: async () => {
      const now = await chatgpt.poll(login.device_code);
      if (now.connected) {
        queries.setQueryData(STATUS, now);
        onAgreed();
      }
      return now;
    },
    refetchInterval: ({ state }) => (state.error ? false : login.interval_seconds * 1000),
    retry: false,
  });
  const address = login.verification_uri_complete ?? login.verification_uri;
  if (poll.error) {
    return (
      <p role="alert" className="problem">
        {poll.error.message}
      </p>
    );
  }
  return (
    <div role="status">
      <p>
        {t("Enter this code on the page of ChatGPT:")} <code className="device-code">{login.user_code}</code>
      </p>
      {/^https?:\/\//.test(address) && (
        <p>
          <a href={address} target="_blank" rel="noopener noreferrer">
            {address}
          </a>
        </p>
      )}
      <p className="hint">{t("Waiting until you have agreed there…")}</p>
    </div>
  );
}

/** Makes a profile of one of the models, which new conversations can use. */
function PaidModel() {
  const queries = useQueryClient();
  const models = useQuery({ queryKey: ["chatgpt-models"], queryFn: chatgpt.models });
  const [chosen, setChosen] = useState("");
  const model = chosen || models.data?.[0] || "";
  const save = useMutation({
    mutationFn: async () => {
      const name = `chatgpt-${model}`;
      await server.saveProfile(name, { model: `openai/${model}`, auth_type: "subscription" });
      return name;
    },
    onSuccess: (name) => {
      usePreferences.setState({ profile: name });
      return queries.invalidateQueries({ queryKey: ["profiles"] });
    },
  });
  const problem = models.error ?? save.error;
  return (
    <div className="row">
      <label>
        {t("Model that it pays for")}
        <select value={model} onChange={(event) => setChosen(event.target.value)}>
          {models.data?.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <button disabled={!model || save.isPending} onClick={() => save.mutate()}>
        {t("Use as a profile")}
      </button>
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
    </div>
  );
}
