// Whether something is on the screen, or nearly: what is expensive can wait until then.

import { type RefObject, useEffect, useRef, useState } from "react";

/** How far below and above the screen it counts. */
const MARGIN = "400px";

export function useInView<E extends Element>(): [RefObject<E | null>, boolean] {
  const place = useRef<E>(null);
  const [isInView, setInView] = useState(false);
  useEffect(() => {
    // Several may come at once; the last one tells how it is now.
    const onChange = (entries: IntersectionObserverEntry[]) => setInView(entries.at(-1)?.isIntersecting ?? false);
    const watcher = new IntersectionObserver(onChange, { rootMargin: MARGIN });
    if (place.current) watcher.observe(place.current);
    return () => watcher.disconnect();
  }, []);
  return [place, isInView];
}
