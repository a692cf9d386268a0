import { useMutation, useQuery } from "@tanstack/react-query";
import { t } from "../words";
import { type McpServer, server } from "./server";

/** How often it is asked whether somebody has agreed. */
const LOOK_EVERY_MS = 1_000;

/** A login at a server that has an address: a page of theirs, on which a person agrees. */
export function McpLogin({ name, config }: { name: string; config: McpServer }) {
  const start = useMutation({ mutationFn: () => server.beginLogin(name) });
  const job = start.data?.job_id ?? null;
  const login = useQuery({
    queryKey: ["mcp-login", job],
    queryFn: async () => {
      const status = await server.login(job ?? "");
      // From now on the token is used.
      if (status.status === "succeeded" && !config["auth"]) await server.useLogin(name);
      return status;
    },
    enabled: job !== null,
    refetchInterval: ({ state }) => (state.data && state.data.status !== "authorizing" ? false : LOOK_EVERY_MS),
  });
  const problem = start.error?.message ?? start.data?.error ?? login.error?.message ?? login.data?.error;
  const address = start.data?.authorization_url;
  return (
    <>
      <button disabled={start.isPending} aria-label={t("Log in at {name}", { name })} onClick={() => start.mutate()}>
        {t("Log in")}
      </button>
      {problem && (
        <p role="alert" className="problem wide">
          {problem}
        </p>
      )}
      {login.data?.status === "succeeded" && (
        <p role="status" className="good wide">
          {t("You are logged in.")}
        </p>
      )}
      {address && /^https?:\/\//.test(address) && !problem && login.data?.status !== "succeeded" && (
        <p role="status" className="wide">
          <a href={address} target="_blank" rel="noopener noreferrer">
            {t("Agree on the page of {name}", { name })}
          </a>
        </p>
      )}
    </>
  );
}
