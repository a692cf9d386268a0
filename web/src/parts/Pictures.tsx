import { Paperclip } from "lucide-react";
import { useRef } from "react";
import { t } from "../words";

/** The pictures that go with a message; a click takes one out. */
export function Pictures({ urls, onChange }: { urls: string[]; onChange: (urls: string[]) => void }) {
  return (
    <div className="row pictures">
      {urls.map((url, index) => (
        <button
          key={index}
          type="button"
          aria-label={t("Remove picture {n}", { n: index + 1 })}
          onClick={() => onChange(urls.toSpliced(index, 1))}
        >
          <img src={url} alt="" />
        </button>
      ))}
    </div>
  );
}

/** Chooses files. */
export function FileButton({ label, accept, onAdd }: { label: string; accept?: string; onAdd: (files: FileList) => void }) {
  const chooser = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={chooser}
        type="file"
        hidden
        multiple
        accept={accept}
        aria-label={t("Pictures and files")}
        onChange={(event) => {
          if (event.target.files) onAdd(event.target.files);
          event.target.value = "";
        }}
      />
      <button type="button" className="quiet icon-only" aria-label={label} title={label} onClick={() => chooser.current?.click()}>
        <Paperclip />
      </button>
    </>
  );
}
