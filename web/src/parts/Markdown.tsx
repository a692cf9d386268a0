import type { ElementContent } from "hast";
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
import { remarkLines } from "./remark-lines";
import { remarkWhole } from "./remark-whole";

const Coloured = lazily(() => import("./Coloured"));

/** Where a whole address leads that is none of this server's. Nothing that others write leads there: its addresses can hold a
 * key, which would take the place of one's own. What is no whole address, as a file or a footnote, would lead there too. */
const hostElsewhere = (address: unknown): string | null => {
  if (typeof address !== "string" || !URL.canParse(address)) return null;
  const { origin, host } = new URL(address);
  return origin === location.origin ? null : host;
};

/** Text from models and files: no HTML of theirs, links that say nothing of us, and pictures only when clicked. */
const COMPONENTS: Components = {
  a: ({ href, node, children }) => {
    if (hostElsewhere(href) !== null) {
      return (
        <a href={href} target="_blank" rel="noreferrer noopener nofollow">
          {children}
        </a>
      );
    }
    if (node?.properties["dataFootnoteBackref"] !== undefined) return null;
    const isSaid = !href || href.startsWith("#") || href === (node && textOf(node));
    return isSaid ? children : <>{children} ({href})</>;
  },
  img: ({ src, alt }) => {
    const what = alt ? `${t("Picture")}: ${alt}` : t("Picture");
    const host = hostElsewhere(src);
    if (host === null) return src ? <>{what} ({src})</> : what;
    return (
      <a href={String(src)} target="_blank" rel="noreferrer noopener nofollow" className="remote-image">
        {what} {t("(opens {host})", { host })}
      </a>
    );
  },
  input: ({ checked }) => (
    <input type="checkbox" disabled readOnly checked={checked} aria-label={checked ? t("done") : t("to do")} />
  ),
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

/** Whether a line that ends is another one, as for who has typed it, or goes on, as Markdown has it. */
type Lines = "kept" | "joined";

export const Markdown = memo(function Markdown({ text, lines = "joined" }: { text: string; lines?: Lines }) {
  return text.length > LONG ? <LongMarkdown text={text} lines={lines} end="written" /> : <Block text={text} lines={lines} isKept={false} />;
});

/** A text that grows, or is long: the blocks that are complete are not read again. */
export function LongMarkdown({ text, lines = "joined", end }: { text: string; lines?: Lines; end: "growing" | "written" }) {
  const all = blocks(text);
  const block = (block: string, key: number, isLast: boolean) => (
    <Block key={key} text={block} lines={lines} isKept={!isLast || end === "written"} />
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

const Block = memo(function Block({ text, lines, isKept }: { text: string; lines: Lines; isKept: boolean }) {
  return <div className="markdown" dir="auto">{read(text, lines, isKept)}</div>;
});

function read(written: string, lines: Lines, isKept: boolean): ReactElement {
  const text = unturned(written);
  if (isPlainLine(text)) return <p>{text.trim()}</p>;
  if (DEEP.test(text)) return <CodeBlock>{text}</CodeBlock>;
  const name = `${lines} ${text}`;
  const known = kept.get(name);
  if (known) return known;
  const element = ReactMarkdown({
    children: text,
    remarkPlugins: [remarkGfm, remarkWhole, ...(lines === "kept" ? [remarkLines] : [])],
    rehypePlugins: [rehypeSanitize, rehypeUnturned],
    remarkRehypeOptions: { footnoteLabel: t("Footnotes") },
    components: COMPONENTS,
  });
  if (isKept) {
    const [oldest] = kept.keys();
    if (oldest !== undefined && kept.size >= MAX_KEPT) kept.delete(oldest);
    kept.set(name, element);
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

const textOf = (node: ElementContent): string =>
  node.type === "text" ? node.value : "children" in node ? node.children.map(textOf).join("") : "";
