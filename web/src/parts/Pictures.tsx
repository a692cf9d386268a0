import { Paperclip } from "lucide-react";
import { useRef } from "react";
import { visibleControls } from "../plain";
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

/** The files that go into the workspace with the first message; a click takes one out. */
export function Files({ files, onChange }: { files: File[]; onChange: (files: File[]) => void }) {
  return (
    <div className="row">
      {files.map((file, index) => (
        <button
          key={index}
          type="button"
          aria-label={t("Remove {name}", { name: file.name })}
          title={t("It goes into the workspace, and the message names it. A click takes it out.")}
          onClick={() => onChange(files.toSpliced(index, 1))}
        >
          <Paperclip /> {visibleControls(file.name)}
        </button>
      ))}
    </div>
  );
}

/** Chooses files. */
export function FileButton({ label, onAdd }: { label: string; onAdd: (files: FileList) => void }) {
  const chooser = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={chooser}
        type="file"
        hidden
        multiple
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
