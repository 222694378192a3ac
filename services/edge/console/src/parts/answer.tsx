// An answer: its words, a badge at every footnote, and how far each sentence is borne out.
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { Citation, Claim, Source, Verdict } from "../api/types";
import { outsideLinks, show } from "../state";
import { language, named, t } from "../strings";
import { badge, cellValue, place } from "../text";
import { drawBlock } from "./blocks";
import { type Block, NOTHING, parse } from "./markdown";
import { type Marks, type Piece, marksIn, marksOf, shownNumbers } from "./marks";
import { linked } from "./outside";
import { Tipped } from "./tip";

interface Props {
  text: string;
  citations: Citation[];
  claims: Claim[];
  sources: Source[];
  answerId?: string;
}

const LOOKS: Partial<Record<Verdict, string>> = {
  VERDICT_NOT_CONFIRMED: "weak",
  VERDICT_UNSUPPORTED: "unsupported",
  VERDICT_UNCITED: "uncited",
};

export function Answer({ text, citations, claims, sources, answerId }: Props) {
  const parsed = useRef(NOTHING);
  parsed.current = parse(text, parsed.current);
  const marks = marksOf(text, claims, citations);
  const numbers = shownNumbers(citations);
  return (
    <div class="answer-text">
      {parsed.current.blocks.map((block) => (
        <BlockView
          key={block.start} block={block} source={text} marks={marksIn(marks, block.start, block.end)}
          numbers={numbers} sources={sources} answerId={answerId}
        />
      ))}
    </div>
  );
}

interface BlockProps extends Pick<Props, "sources" | "answerId"> {
  block: Block;
  source: string;
  marks: Marks;
  numbers: Map<number, number>;
}

/** A block, drawn again only where it or the marks in it have changed: while an answer comes, that is its end. */
function BlockView({ block, source, marks, numbers, sources, answerId }: BlockProps) {
  const seen = [
    ...marks.claims.map(({ claim }) => claim), ...marks.markers.flatMap((one) => one.citations.flatMap((citation) => [citation, numbers.get(citation.number)])),
  ];
  const before = useRef<unknown[]>([]);
  if (seen.length !== before.current.length || seen.some((one, index) => one !== before.current[index])) before.current = seen;
  return useMemo(() => drawBlock(block, source, marks, (piece, content) => (
    <Stretch piece={piece} content={content} numbers={numbers} sources={sources} answerId={answerId} />
  )), [block.node, before.current, answerId, language.value, outsideLinks.value]);
}

interface StretchProps extends Pick<BlockProps, "numbers" | "sources" | "answerId"> {
  piece: Piece;
  content: ComponentChildren;
}

function Stretch({ piece, content, numbers, sources, answerId }: StretchProps) {
  const look = piece.claim && LOOKS[piece.claim.support];
  if (piece.citations.length) {
    const badges = (
      <>
        {piece.citations.map((one) => (
          <Badge
            citation={one} shown={numbers.get(one.number) ?? one.number} claim={piece.claim} answerId={answerId}
            source={sources.find((source) => source.number === one.number)}
          />
        ))}
        {piece.ends && <Mark claim={piece.claim} />}
      </>
    );
    return piece.after ? <span class="kept">{badges}{piece.after}</span> : badges;
  }
  const words = content ?? linked(piece.text);
  if (!look) return <>{words}</>;
  return <><span class={`claim ${look}`}>{words}</span>{piece.ends && <Mark claim={piece.claim} />}</>;
}

/** What is said by a sentence with a footnote that is not confirmed is said at the footnote. */
function Mark({ claim }: { claim: Claim | undefined }) {
  if (!claim || !(claim.support in LOOKS) || claim.support === "VERDICT_NOT_CONFIRMED") return null;
  return (
    <Tipped
      class={`mark ${LOOKS[claim.support]}`} label={named("verdict", claim.support)}
      tip={() => <span class="tip-reason">{reason(claim)}</span>}
    />
  );
}

/** Why a sentence is not borne out, in a sentence. */
export function reason(claim: Claim): string {
  if (claim.reason === "CLAIM_REASON_UNSPECIFIED") return "";
  return named("reason", claim.reason, { stated: claim.stated, found: claim.found, subject: claim.subject });
}

/** Return what is known of a footnote: how it was found that the source says it, with the reader's name, or its verdict. */
function found(citation: Citation): string {
  if (citation.basis === "BASIS_READ" && citation.reader) return t("basis.read_by", { reader: citation.reader });
  const known = citation.support === "VERDICT_SUPPORTED" && citation.basis && citation.basis !== "BASIS_UNSPECIFIED";
  return known ? named("basis", citation.basis) : named("verdict", citation.support);
}

interface BadgeProps {
  citation: Citation;
  shown: number;
  source: Source | undefined;
  claim: Claim | undefined;
  answerId: string | undefined;
}

function Badge({ citation, shown, source, claim, answerId }: BadgeProps) {
  const look = LOOKS[citation.support] ?? "supported";
  return (
    <Tipped
      class={`badge ${look}`}
      name={t("badge.name", { n: shown, badge: badge(citation.filename, citation.locator), verdict: found(citation) })}
      label={<><span class="badge-number">{shown}</span><span class="badge-words">{badge(citation.filename, citation.locator)}</span></>}
      tip={() => <About citation={citation} source={source} claim={claim} />}
      onClick={() => show({
        documentId: citation.document_id, filename: citation.filename, mimeType: source?.mime_type ?? "", source, citation, answerId,
      })}
    />
  );
}

function About({ citation, source, claim }: { citation: Citation; source: Source | undefined; claim: Claim | undefined }) {
  const { sheet } = citation.locator ?? {};
  const value = cellValue(citation, source);
  const headings = citation.locator?.heading_path ?? [];
  return (
    <>
      <span class="tip-file" dir="auto">{citation.filename}</span>
      <span class="tip-facts">
        {sheet ? (
          <>
            {sheet.sheet && <span>{t("tip.sheet", { sheet: sheet.sheet })}</span>}
            <span>{t("tip.cell", { cell: sheet.range })}</span>
            {value && <span>{t("tip.value", { value })}</span>}
          </>
        ) : <span>{place(citation.locator)}</span>}
        {!sheet && headings.length > 0 && <span dir="auto">{headings.join(" › ")}</span>}
        {citation.title && citation.title !== citation.filename && <span dir="auto">{citation.title}</span>}
        {source && <span>{t("tip.collection", { collection: source.collection })}</span>}
      </span>
      {citation.quote && <span class="tip-quote" dir="auto">{citation.quote}</span>}
      <span class={`tip-verdict ${LOOKS[citation.support] ?? "supported"}`}>
        {found(citation)}
      </span>
      {claim && reason(claim) && <span class="tip-reason">{reason(claim)}</span>}
      <span class="tip-hint">{t("tip.open")}</span>
    </>
  );
}

/** Return the footnotes of an answer in lines of text, by the numbers that are shown. */
export function footnotes(citations: Citation[]): string[] {
  const numbers = shownNumbers(citations);
  const lines = new Map<string, string>();
  for (const one of citations) {
    const quote = one.quote ? ` — “${one.quote}”` : "";
    lines.set(`${one.number} ${one.label}`, `[${numbers.get(one.number)}] ${one.label}${quote} (${found(one)})`);
  }
  return [...lines.values()];
}

/** Return an answer with its footnotes below, as text that can be pasted anywhere; numbered as they are shown. */
export function withFootnotes(text: string, citations: Citation[]): string {
  const numbers = shownNumbers(citations);
  const points = Array.from(text);
  const markers = new Map<number, { end: number; shown: string }>();
  for (const one of citations) {
    if (!one.marker_span) continue;
    const { start, end } = one.marker_span;
    markers.set(start, { end, shown: `${markers.get(start)?.shown ?? ""}[${numbers.get(one.number)}]` });
  }
  const parts: string[] = [];
  let done = 0;
  for (const [start, { end, shown }] of [...markers].sort(([a], [b]) => a - b)) {
    parts.push(points.slice(done, start).join(""), shown);
    done = end;
  }
  const words = parts.join("") + points.slice(done).join("");
  return citations.length ? `${words}\n\n${footnotes(citations).join("\n")}\n` : `${words}\n`;
}
