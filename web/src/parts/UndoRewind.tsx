import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Undo2, X } from "lucide-react";
import { setRewound, takeBack, type WayBack } from "../rewinding";
import { t } from "../words";

/** Says that something was rewound, and takes that back. */
export function UndoRewind({ id, way }: { id: string; way: WayBack }) {
  const queries = useQueryClient();
  const undo = useMutation({
    mutationFn: () => takeBack(id, way),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["changes", id] });
      void queries.invalidateQueries({ queryKey: ["files", id] });
    },
  });
  return (
    <p className="banner" role="status">
      {undo.error?.message ?? t("It was rewound.")}{" "}
      <button disabled={undo.isPending} onClick={() => undo.mutate()}>
        <Undo2 /> {t("Undo it")}
      </button>
      <button className="quiet" aria-label={t("Dismiss")} onClick={() => setRewound(id, null)}>
        <X />
      </button>
    </p>
  );
}
