import { useMutation, useQuery } from "@tanstack/react-query";
import { Suspense, useEffect, useState } from "react";
import { lazily } from "../lazily";
import { Guard } from "../parts/Guard";
import { Markdown } from "../parts/Markdown";
import { visibleControls, visibleInFile } from "../plain";
import { t } from "../words";
import { type Entry, MAX_SHOWN_BYTES, workspace } from "../workspace";
import { download } from "../download";
import { endingOf } from "../ending";

const Code = lazily(() => import("./Code"));
const PICTURES: Record<string, string> = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp" };

interface Props {
  conversation: string;
  folder: string;
  file: Entry;
  onBack: () => void;
}

type Content = { type: "text"; text: string } | { type: "picture"; blob: Blob } | { type: "binary" };

/** One file, as text or as a picture. Nothing of it is run. */
export function FileView({ conversation, folder, file, onBack }: Props) {
  const ending = endingOf(file.name);
  const isMarkdown = ending === "md" || ending === "markdown";
  const [isRead, setRead] = useState(isMarkdown);
  const isSmall = file.size <= MAX_SHOWN_BYTES;
  const content = useQuery({
    queryKey: ["files", conversation, "content", file.path],
    queryFn: async (): Promise<Content> => {
      const blob = await workspace.read(conversation, file.path);
      const kind = PICTURES[ending];
      if (kind) return { type: "picture", blob: new Blob([blob], { type: kind }) };
      const text = await blob.text();
      return text.includes("\0") ? { type: "binary" } : { type: "text", text };
    },
    enabled: isSmall,
  });
  const save = useMutation({
    mutationFn: async () => download(file.name.split("/").at(-1) ?? "file", await workspace.read(conversation, file.path)),
  });
  const problem = save.error ?? content.error;
  const shown = file.path.startsWith(`${folder}/`) ? file.path.slice(folder.length + 1) : file.path;
  return (
    <section aria-label={shown} className="file">
      <div className="row tools">
        <button onClick={onBack}>{t("Back")}</button>
        <code className="card-title" title={file.path}>
          {visibleControls(shown)}
        </code>
        {isMarkdown && (
          <button aria-pressed={isRead} onClick={() => setRead(!isRead)}>
            {t("Formatted")}
          </button>
        )}
        <button disabled={save.isPending} onClick={() => save.mutate()}>
          {t("Download")}
        </button>
      </div>
      {!isSmall && <p className="hint">{t("The file is too large to be shown.")}</p>}
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
      {content.data?.type === "binary" && <p className="hint">{t("This is no text.")}</p>}
      {content.data?.type === "picture" && <Picture blob={content.data.blob} name={shown} />}
      {content.data?.type === "text" && isRead && <Markdown text={visibleInFile(content.data.text)} />}
      {content.data?.type === "text" && !isRead && <Text text={visibleInFile(content.data.text)} ending={ending} />}
    </section>
  );
}

/** A text, in colours as soon as what makes them is loaded. */
function Text({ text, ending }: { text: string; ending: string }) {
  const plain = <pre className="code">{text}</pre>;
  return (
    <Guard instead={() => plain}>
      <Suspense fallback={plain}>
        <Code text={text} ending={ending} />
      </Suspense>
    </Guard>
  );
}

function Picture({ blob, name }: { blob: Blob; name: string }) {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return address && <img className="attached" src={address} alt={name} />;
}
