// The models that have names on the server.

import { useQuery } from "@tanstack/react-query";
import { server } from "./settings/server";

export const useProfiles = () =>
  useQuery({ queryKey: ["profiles"], queryFn: server.profiles, staleTime: 60_000 }).data?.profiles ?? [];
