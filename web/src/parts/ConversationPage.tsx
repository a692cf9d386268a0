import { useEffect, useState } from "react";

type Page = typeof import("./Conversation").default;

/** The page's code, once it is there. */
let page: Page | null = null;

/** A conversation, whose code is loaded with the first of them. Not by `lazy`: React holds its result back for 300 ms. */
export function ConversationPage({ id }: { id: string }) {
  const [loaded, setLoaded] = useState<{ Page: Page | null; failure: unknown }>({ Page: page, failure: null });
  useEffect(() => {
    if (page) return;
    import("./Conversation").then(
      (code) => setLoaded({ Page: (page = code.default), failure: null }),
      (failure: unknown) => setLoaded({ Page: null, failure }),
    );
  }, []);
  if (loaded.failure) throw loaded.failure;
  const { Page } = loaded;
  return Page ? <Page id={id} /> : <main id="main" className="main" aria-busy="true" />;
}
