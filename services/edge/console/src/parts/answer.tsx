// An answer: its words, a badge at every footnote, and how far each sentence is borne out.
import type { ComponentChildren } from "preact";
import type { Citation, Claim, Source, Verdict } from "../api/types";
import { show } from "../state";
import { named, number, t } from "../strings";
import { badge, cellValue, place, segments } from "../text";
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
  const source = (citation: Citation) => sources.find((one) => one.number === citation.number);
  return (
    <div class="answer-text">
      {segments(text, claims, citations).map((segment) => {
        if (segment.citations.length) {
          return segment.citations.map((citation) => (
            <Badge citation={citation} source={source(citation)} claim={claims[segment.claim]} answerId={answerId} />
          )).concat(segment.ends ? [<Mark claim={claims[segment.claim]} />] : []);
        }
        const claim = claims[segment.claim];
        const look = claim && LOOKS[claim.support];
        if (!look) return <Words text={segment.text} />;
        return (
          <>
            <span class={`claim ${look}`}><Words text={segment.text} /></span>
            {segment.ends && <Mark claim={claim} />}
          </>
        );
      })}
    </div>
  );
}

/** Emphasis and code of Markdown, and addresses as links that ask first; all else stays as it is written. Never HTML or an image. */
function Words({ text }: { text: string }) {
  const bold = text.split("**");
  return (
    <>
      {bold.map((part, index) => (index % 2 && index < bold.length - 1 ? <strong>{codes(part)}</strong> : codes(index % 2 ? `**${part}` : part)))}
    </>
  );
}

function codes(text: string): ComponentChildren {
  const parts = text.split("`");
  if (parts.length < 3) return linked(text);
  return parts.map((part, index) => (index % 2 && index < parts.length - 1 ? <code>{part}</code> : linked(index % 2 ? `\`${part}` : part)));
}

function Mark({ claim }: { claim: Claim | undefined }) {
  if (!claim || !(claim.support in LOOKS)) return null;
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
  return t(`reason.${claim.reason}` as never, { stated: claim.stated, found: claim.found, subject: claim.subject });
}

function Badge({ citation, source, claim, answerId }: { citation: Citation; source?: Source; claim?: Claim; answerId?: string }) {
  const look = LOOKS[citation.support] ?? "supported";
  return (
    <Tipped
      class={`badge ${look}`}
      name={t("badge.name", { n: citation.number, badge: badge(citation.filename, citation.locator), verdict: named("verdict", citation.support) })}
      label={<><span class="badge-number">{citation.number}</span><span class="badge-words">{badge(citation.filename, citation.locator)}</span></>}
      tip={() => <About citation={citation} source={source} claim={claim} />}
      onClick={() => show({
        documentId: citation.document_id, filename: citation.filename, mimeType: source?.mime_type ?? "", source, citation, answerId,
      })}
    />
  );
}

function About({ citation, source, claim }: { citation: Citation; source?: Source; claim?: Claim }) {
  const { sheet } = citation.locator ?? {};
  const value = cellValue(citation, source);
  const headings = citation.locator?.heading_path ?? [];
  return (
    <>
      <span class="tip-file">{citation.filename}</span>
      <span class="tip-facts">
        {sheet ? (
          <>
            {sheet.sheet && <span>{t("tip.sheet", { sheet: sheet.sheet })}</span>}
            <span>{t("tip.cell", { cell: sheet.range })}</span>
            {value && <span>{t("tip.value", { value })}</span>}
          </>
        ) : <span>{place(citation.locator)}</span>}
        {!sheet && headings.length > 0 && <span>{headings.join(" › ")}</span>}
        {citation.title && citation.title !== citation.filename && <span>{citation.title}</span>}
        {source && <span>{t("tip.collection", { collection: source.collection })}</span>}
      </span>
      {citation.quote && <span class="tip-quote">{citation.quote}</span>}
      <span class={`tip-verdict ${LOOKS[citation.support] ?? "supported"}`}>
        {named("verdict", citation.support)} · {number(citation.support_score * 100)} %
      </span>
      {claim && reason(claim) && <span class="tip-reason">{reason(claim)}</span>}
      <span class="tip-hint">{t("tip.open")}</span>
    </>
  );
}

/** Return an answer with its footnotes below, as text that can be pasted anywhere. */
export function withFootnotes(text: string, citations: Citation[]): string {
  const lines = new Map<string, string>();
  for (const one of citations) {
    const quote = one.quote ? ` — “${one.quote}”` : "";
    lines.set(`${one.number} ${one.label}`, `[${one.number}] ${one.label}${quote} (${named("verdict", one.support)})`);
  }
  return lines.size ? `${text}\n\n${[...lines.values()].join("\n")}\n` : `${text}\n`;
}
