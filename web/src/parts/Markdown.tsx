import { memo, type ReactNode, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { blocks } from "../blocks";
import { t } from "../words";

/** Text from models and files: no HTML of theirs, links that say nothing of us, and pictures only when clicked. */
const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener nofollow">
      {children}
    </a>
  ),
  img: ({ src, alt }) =>
    typeof src === "string" && src ? (
      <a href={src} target="_blank" rel="noreferrer noopener nofollow" className="remote-image">
        {t("Picture")}{alt && `: ${alt}`} {t("(opens {host})", { host: host(src) })}
      </a>
    ) : null,
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
};

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[rehypeSanitize]} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

/** A text that grows: the blocks that are complete are not read again. */
export function GrowingMarkdown({ text }: { text: string }) {
  return blocks(text).map((block, index) => <Markdown key={index} text={block} />);
}

function CodeBlock({ children }: { children: ReactNode }) {
  const pre = useRef<HTMLPreElement>(null);
  return (
    <div className="code-block">
      <pre ref={pre} tabIndex={0}>
        {children}
      </pre>
      <button className="quiet" onClick={() => void navigator.clipboard?.writeText(pre.current?.textContent ?? "")}>
        {t("Copy")}
      </button>
    </div>
  );
}

function host(address: string): string {
  return URL.canParse(address) ? new URL(address).host : t("an address of this server");
}
