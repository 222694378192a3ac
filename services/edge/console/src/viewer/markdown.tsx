// A Markdown file drawn as the document that it is, scrolled to the quoted words.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { download } from "../api/client";
import type { Claim } from "../api/types";
import { drawBlock } from "../parts/blocks";
import { NOTHING, parse } from "../parts/markdown";
import { type Marks, marksIn } from "../parts/marks";
import { type Place, revisionOf } from "../state";
import { t } from "../strings";
import { find } from "./quote";

/** Bytes up to which a file is drawn; a longer one is shown by its passages. */
const MOST = 1_000_000;

interface Props {
  at: Place;
  /** What is shown where the file cannot be had or is too long. */
  instead: preact.JSX.Element;
}

export function MarkdownFile({ at, instead }: Props) {
  const [text, setText] = useState<string | null>(null);
  const [failed, setFailed] = useState(false);
  const revision = revisionOf(at);
  useEffect(() => {
    const stop = new AbortController();
    setText(null);
    setFailed(false);
    download(at.documentId, revision, stop.signal).then(async (file) => {
      if (file.size > MOST) setFailed(true);
      else setText((await file.text()).replaceAll("\r\n", "\n"));
    }).catch(() => !stop.signal.aborted && setFailed(true));
    return () => stop.abort();
  }, [at.documentId, revision]);
  if (failed) return instead;
  return text === null ? <p class="quiet" role="status">{t("viewer.loading", { filename: at.filename })}</p> : <Drawn at={at} text={text} />;
}

function Drawn({ at, text }: { at: Place; text: string }) {
  const shown = useRef<HTMLDivElement>(null);
  const blocks = useMemo(() => parse(text, NOTHING).blocks, [text]);
  const span = useMemo(() => located(at, text), [at, text]);
  useEffect(() => shown.current?.querySelector("mark")?.scrollIntoView({ block: "center" }), [text, span]);
  // The quote is marked as a claim of an answer is.
  const marks: Marks = { claims: span ? [{ claim: {} as Claim, ...span }] : [], markers: [] };
  return (
    <>
      {!span && (at.citation || at.source) && <p class="notice">{t("viewer.textnotfound")}</p>}
      <div class="prose answer-text" ref={shown}>
        {blocks.map((block) => drawBlock(block, text, marksIn(marks, block.start, block.end), (piece, content) => {
          const words = content ?? piece.text;
          return piece.claim ? <mark>{words}</mark> : <>{words}</>;
        }))}
      </div>
    </>
  );
}

/** Return where the quote stands: by its words, near the lines that the footnote names; else these lines. */
function located(at: Place, text: string): { start: number; end: number } | null {
  const lines = at.citation?.locator?.lines ?? at.source?.locator?.lines;
  const begins = [0, ...Array.from(text.matchAll(/\n/g), (found) => found.index + 1)];
  const near = lines ? begins[lines.first_line - 1] ?? 0 : 0;
  const found = find(text, at.citation?.quote || at.source?.text || "", near);
  if (found) return { start: found[0], end: found[1] };
  return lines && begins[lines.first_line - 1] !== undefined ? { start: near, end: begins[lines.last_line] ?? text.length } : null;
}
