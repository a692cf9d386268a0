import { Fragment, memo, type ReactElement, type ReactNode, Suspense, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { blocks, isPlainLine } from "../blocks";
import { lazily } from "../lazily";
import { unturned } from "../plain";
import { t } from "../words";
import { CopyButton } from "./CopyButton";
import { Guard } from "./Guard";
import { rehypeUnturned } from "./rehype-unturned";
import { remarkWhole } from "./remark-whole";

const Coloured = lazily(() => import("./Coloured"));

/** Where an address leads that is none of this server's. Nothing that others write leads there: its addresses can hold a key,
 * which would take the place of one's own. */
const hostElsewhere = (address: unknown): string | null => {
  if (typeof address !== "string" || !URL.canParse(address, location.href)) return null;
  const { origin, host } = new URL(address, location.href);
  return origin === location.origin ? null : host;
};

/** Text from models and files: no HTML of theirs, links that say nothing of us, and pictures only when clicked. */
const COMPONENTS: Components = {
  a: ({ href, children }) =>
    hostElsewhere(href) === null ? (
      <span title={href}>{children}</span>
    ) : (
      <a href={href} target="_blank" rel="noreferrer noopener nofollow">
        {children}
      </a>
    ),
  img: ({ src, alt }) => {
    const host = hostElsewhere(src);
    const words = <>{t("Picture")}{alt && `: ${alt}`}</>;
    if (host === null) return <span title={typeof src === "string" ? src : undefined}>{words}</span>;
    return (
      <a href={String(src)} target="_blank" rel="noreferrer noopener nofollow" className="remote-image">
        {words} {t("(opens {host})", { host })}
      </a>
    );
  },
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  table: ({ children }) => (
    <div className="wide" tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
  code: ({ className, children }) => {
    const language = /^language-([\w+#-]+)$/.exec(className ?? "")?.[1];
    if (!language || typeof children !== "string") return <code>{children}</code>;
    return (
      <code>
        <Guard instead={() => children}>
          <Suspense fallback={children}>
            <Coloured text={children} name={language.toLowerCase()} />
          </Suspense>
        </Guard>
      </code>
    );
  },
};

/** Texts longer than this are read block by block: their definitions and lists then end with a block. */
const LONG = 8_000;
/** Blocks that are kept as they were read: what was just written need not be read again when it is stored. */
const MAX_KEPT = 100;
const kept = new Map<string, ReactElement>();

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return text.length > LONG ? <LongMarkdown text={text} end="written" /> : <Block text={text} isKept={false} />;
});

/** A text that grows, or is long: the blocks that are complete are not read again. */
export function LongMarkdown({ text, end }: { text: string; end: "growing" | "written" }) {
  const all = blocks(text);
  const block = (block: string, key: number, isLast: boolean) => (
    <Block key={key} text={block} isKept={!isLast || end === "written"} />
  );
  return all.map((found, index) => {
    const isLast = index === all.length - 1;
    if (typeof found === "string") return block(found, index, isLast);
    return (
      <div key={index} className="markdown one-line">
        {found.map((piece, place) => (
          <Fragment key={place}>
            {block(piece, place, isLast && place === found.length - 1)}
            {piece.endsWith(" ") && " "}
          </Fragment>
        ))}
      </div>
    );
  });
}

/** A line that begins so many quotes and lists within each other. To read those takes long, and at some depth it fails. */
const DEEP = /^(?:[ \t]*(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])){100}/m;

const Block = memo(function Block({ text, isKept }: { text: string; isKept: boolean }) {
  return <div className="markdown" dir="auto">{read(text, isKept)}</div>;
});

function read(written: string, isKept: boolean): ReactElement {
  const text = unturned(written);
  if (isPlainLine(text)) return <p>{text.trim()}</p>;
  if (DEEP.test(text)) return <CodeBlock>{text}</CodeBlock>;
  const known = kept.get(text);
  if (known) return known;
  const element = ReactMarkdown({
    children: text,
    remarkPlugins: [remarkGfm, remarkWhole],
    rehypePlugins: [rehypeSanitize, rehypeUnturned],
    components: COMPONENTS,
  });
  if (isKept) {
    const [oldest] = kept.keys();
    if (oldest !== undefined && kept.size >= MAX_KEPT) kept.delete(oldest);
    kept.set(text, element);
  }
  return element;
}

function CodeBlock({ children }: { children: ReactNode }) {
  const pre = useRef<HTMLPreElement>(null);
  return (
    <div className="code-block">
      <pre ref={pre} tabIndex={0}>
        {children}
      </pre>
      <CopyButton look="icon" text={() => pre.current?.textContent ?? ""} />
    </div>
  );
}
