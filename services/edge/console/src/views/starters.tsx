// Questions to begin with, which the collection's model writes where it has one, and to go on with; else made from headings.
import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { Chunk, Citation, GetCollectionResponse, ListChunksResponse, ListDocumentsResponse, Source } from "../api/types";
import { useLoaded } from "../parts/load";
import { plain, t } from "../strings";

const MOST = 3;
/** Passages looked at of each document. */
const PASSAGES = 20;
/** What is longer is a sentence that was taken for a heading. */
const LONGEST = 80;

interface Heading {
  heading: string;
  filename: string;
}

function headingOf({ locator, filename }: Pick<Chunk | Source, "locator" | "filename">): Heading | null {
  const heading = locator?.heading_path.at(-1)?.trim() ?? "";
  return heading && heading.length <= LONGEST ? { heading, filename } : null;
}

const said = (one: Heading) => plain(t("starter.question", { heading: one.heading, filename: one.filename }));

const PATIENCE_MS = 2500;

/** Return the questions that a collection's model wrote, else those made from headings.

    A model that takes longer writes them for the next time: buttons that change may be under the pointer. */
async function read(collections: string[], stop: AbortSignal): Promise<string[]> {
  const late = new Promise<string[]>((done) => setTimeout(() => done([]), PATIENCE_MS));
  const writing = collections.length === 1 ? Promise.race([writtenFor(collections[0]!, stop), late]) : [];
  const [written, headings] = await Promise.all([writing, headingsOf(collections, stop)]);
  return written.length ? written : headings.map(said);
}

async function writtenFor(collection: string, stop: AbortSignal): Promise<string[]> {
  const path = `/v1/collections/${encodeURIComponent(collection)}?with_starter_questions=true`;
  return get<GetCollectionResponse>(path, stop).then((found) => found.starter_questions, () => []);
}

async function headingsOf(collections: string[], stop: AbortSignal): Promise<Heading[]> {
  const only = collections.length === 1 ? `&collection=${encodeURIComponent(collections[0]!)}` : "";
  const path = `/v1/documents?page_size=${MOST}&states=DOCUMENT_STATE_INDEXED&order_by=${encodeURIComponent("create_time desc")}${only}`;
  const { documents } = await get<ListDocumentsResponse>(path, stop);
  const found = await Promise.all(documents.map(async (document) => {
    const listed = await get<ListChunksResponse>(`/v1/documents/${encodeURIComponent(document.id)}/chunks?page_size=${PASSAGES}`, stop);
    return listed.chunks.flatMap((one) => headingOf(one) ?? []);
  }));
  // One of each document first, so that they are about different things.
  const turns = Array.from({ length: MOST }, (_, index) => found.flatMap((headings) => distinct(headings)[index] ?? []));
  return turns.flat().slice(0, MOST);
}

const distinct = (headings: Heading[]) => [...new Map(headings.map((one) => [one.heading, one])).values()];

export function Starters({ collections, ask }: { collections: string[]; ask: (question: string) => void }) {
  const { value } = useLoaded((stop) => read(collections, stop), [collections]);
  return <Offers label={t("starter.label")} questions={value ?? []} ask={ask} />;
}

/** What else was found beside what an answer cites. */
export function FollowUps({ sources, citations, ask }: { sources: Source[]; citations: Citation[]; ask: (question: string) => void }) {
  const headings = useMemo(() => {
    const cited = new Set(citations.map((one) => one.locator?.heading_path.at(-1)));
    const others = sources.flatMap((one) => headingOf(one) ?? []).filter((one) => !cited.has(one.heading));
    return distinct(others).slice(0, MOST);
  }, [sources, citations]);
  return <Offers label={t("starter.further")} questions={headings.map(said)} ask={ask} />;
}

function Offers({ label, questions, ask }: { label: string; questions: string[]; ask: (question: string) => void }) {
  if (!questions.length) return null;
  return (
    <ul class="offers" aria-label={label}>
      {questions.map((one) => <li><button type="button" dir="auto" onClick={() => ask(one)}>{one}</button></li>)}
    </ul>
  );
}
