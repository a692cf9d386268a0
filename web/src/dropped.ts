import { useEffect } from "react";

const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;

/** Takes the files that are dropped anywhere, unless what they fell on has: the browser would leave the app to show them.
 * Text that is dragged stays with the fields. */
export function useDropped(take: (files: FileList) => void): void {
  useEffect(() => {
    const allow = (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    };
    const onDrop = (event: DragEvent) => {
      if (event.defaultPrevented || !hasFiles(event)) return;
      event.preventDefault();
      const isCovered = document.querySelector("dialog[open]") !== null;
      if (!isCovered && event.dataTransfer) take(event.dataTransfer.files);
    };
    addEventListener("dragover", allow);
    addEventListener("drop", onDrop);
    return () => {
      removeEventListener("dragover", allow);
      removeEventListener("drop", onDrop);
    };
  });
}
