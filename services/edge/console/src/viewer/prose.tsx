// The extracted text of a document, as text and nothing else, scrolled to the quoted words.
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Chunk } from "../api/types";
import type { Place } from "../state";
import { t } from "../strings";
import { whole } from "./passages";
import { find } from "./quote";

export function Prose({ at, chunks }: { at: Place; chunks: Chunk[] }) {
  const marked = useRef<HTMLElement>(null);
  const { lines, span } = useMemo(() => located(at, chunks), [at, chunks]);
  useEffect(() => marked.current?.scrollIntoView({ block: "center" }), [lines, span]);
  let offset = 0;
  let placed = false;
  return (
    <>
      {!span && (at.citation || at.source) && <p class="notice">{t("viewer.textnotfound")}</p>}
      <div class="prose">
        {lines.map((line) => {
          const begin = offset;
          offset += line.length + 1;
          const from = span ? Math.max(span[0] - begin, 0) : 0;
          const to = span ? Math.min(span[1] - begin, line.length) : 0;
          if (from >= to) return <p dir="auto">{line}</p>;
          const ref = placed ? undefined : marked;
          placed = true;
          return <p dir="auto">{line.slice(0, from)}<mark ref={ref}>{line.slice(from, to)}</mark>{line.slice(to)}</p>;
        })}
      </div>
    </>
  );
}

/** Return the text in lines and where in it the quote stands, in UTF-16 units. */
function located(at: Place, chunks: Chunk[]): { lines: string[]; span: [number, number] | null } {
  const points = whole(chunks);
  const text = points.join("");
  const given = at.citation?.locator?.span ?? at.source?.locator?.span;
  const near = given ? points.slice(0, given.start).join("").length : 0;
  let span = find(text, at.citation?.quote || at.source?.text || "", near);
  if (!span && given && given.start < points.length) span = [near, near + points.slice(given.start, given.end).join("").length];
  return { lines: text.split("\n"), span };
}
