import { useRef, useState } from "react";
import { MAX_PICTURES, readPictures } from "../pictures";

/** Drafts of messages survive a change of the conversation. */
const drafts = new Map<string, string>();

interface Props {
  id: string;
  isBusy: boolean;
  onSend: (text: string, pictures: string[]) => Promise<void>;
}

/** Where messages are written. Pictures come by button, paste or drop. */
export function Composer({ id, isBusy, onSend }: Props) {
  const [text, setText] = useState(drafts.get(id) ?? "");
  const [pictures, setPictures] = useState<string[]>([]);
  const [refused, setRefused] = useState<string | null>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const change = (next: string) => {
    drafts.set(id, next);
    setText(next);
  };
  const add = async (files: FileList) => {
    if (files.length === 0) return;
    const read = await readPictures(files);
    setRefused(read.refused);
    setPictures((before) => [...before, ...read.pictures].slice(0, MAX_PICTURES));
  };
  const isEmpty = !text.trim() && pictures.length === 0;
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (isEmpty) return;
        change("");
        setPictures([]);
        void onSend(text.trim(), pictures);
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void add(event.dataTransfer.files);
      }}
    >
      {(pictures.length > 0 || refused) && (
        <div className="row pictures">
          {pictures.map((url, index) => (
            <button
              key={index}
              type="button"
              aria-label={`Remove picture ${index + 1}`}
              onClick={() => setPictures(pictures.toSpliced(index, 1))}
            >
              <img src={url} alt="" />
            </button>
          ))}
          {refused && (
            <span role="alert" className="problem">
              {refused}
            </span>
          )}
        </div>
      )}
      <textarea
        aria-label="Message"
        rows={Math.min(10, Math.max(2, text.split("\n").length))}
        value={text}
        placeholder={isBusy ? "Steer it: read at the next step" : "Say what comes next"}
        onChange={(event) => change(event.target.value)}
        onPaste={(event) => void add(event.clipboardData.files)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }
        }}
      />
      <input
        ref={chooser}
        type="file"
        hidden
        multiple
        accept="image/*"
        aria-label="Pictures"
        onChange={(event) => {
          if (event.target.files) void add(event.target.files);
          event.target.value = "";
        }}
      />
      <button type="button" aria-label="Add a picture" title="Add a picture" onClick={() => chooser.current?.click()}>
        +
      </button>
      <button className="primary" disabled={isEmpty}>
        Send
      </button>
    </form>
  );
}
