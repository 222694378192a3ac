// The document at the place of a footnote, beside the answer.
import type { FunctionComponent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { download, get } from "../api/client";
import type { Chunk, GetDocumentResponse, Rating } from "../api/types";
import { Failure, type Fault, attempt, faultOf } from "../parts/failure";
import { Icon } from "../parts/icons";
import { type Place, hide, revisionOf, shown } from "../state";
import { isolate, number, t } from "../strings";
import { place } from "../text";
import { rate, rated } from "../views/rating";
import { Headers } from "./cell";
import { Grid } from "./grid";
import { MarkdownFile } from "./markdown";
import { type Read, passages } from "./passages";
import { Prose } from "./prose";

export function Viewer() {
  const at = shown.value;
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!at) return;
    close.current?.focus();
    const escape = (event: KeyboardEvent) => event.key === "Escape" && hide();
    addEventListener("keydown", escape);
    return () => removeEventListener("keydown", escape);
  }, [at]);
  if (!at) return null;
  return (
    <aside class="viewer" aria-label={t("viewer.label")}>
      <header>
        <div>
          <h2><bdi>{at.filename}</bdi></h2>
          <p class="quiet">{[place(at.citation?.locator ?? at.source?.locator), isolate(at.citation?.locator?.heading_path.join(" › ") ?? "")].filter(Boolean).join(" · ")}</p>
        </div>
        <button type="button" class="plain" onClick={() => save(at.documentId, at.filename, revisionOf(at))} aria-label={t("viewer.download")} title={t("viewer.download")}><Icon name="save" /></button>
        <button type="button" class="plain" onClick={hide} aria-label={t("close")} title={t("close")} ref={close}><Icon name="close" /></button>
      </header>
      {at.citation?.cell && <Headers cell={at.citation.cell} />}
      <div class="viewer-body"><Newer at={at} /><Body at={at} /></div>
      {at.citation && at.answerId && <Judge at={at} key={`${at.answerId} ${at.citation.number}`} />}
    </aside>
  );
}

/** Say whether searches see another file by now, or another one waits to take the cited one's place. */
function Newer({ at }: { at: Place }) {
  const [said, setSaid] = useState<"viewer.gone" | "viewer.newer" | null>(null);
  const cited = at.citation?.sha256 || at.source?.sha256;
  useEffect(() => {
    setSaid(null);
    if (!cited) return;
    const stop = new AbortController();
    get<GetDocumentResponse>(`/v1/documents/${encodeURIComponent(at.documentId)}`, stop.signal)
      .then(({ document }) => setSaid(document!.sha256 !== cited ? "viewer.gone" : document!.replacement ? "viewer.newer" : null))
      .catch(() => {}); // the body says what is wrong
    return () => stop.abort();
  }, [at.documentId, cited]);
  return said && <p class="notice">{t(said)}</p>;
}

function Body({ at }: { at: Place }) {
  const passages = <Passages at={at} />;
  if (at.passages) return passages;
  const lazy = LAZY[at.mimeType];
  if (lazy) return <Lazy at={at} load={lazy} instead={passages} key={at.mimeType} />;
  return at.mimeType === "text/markdown" ? <MarkdownFile at={at} instead={passages} /> : passages;
}

type Drawer = FunctionComponent<{ at: Place; instead: preact.JSX.Element }>;
const office = () => import("./office");
/** What draws a kind of file, where that is large: loaded when the first one is opened. */
const LAZY: Record<string, () => Promise<{ default: Drawer }>> = {
  "application/pdf": () => import("./pdf"),
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": office,
  "application/vnd.oasis.opendocument.text": office,
};

function Lazy({ at, load, instead }: { at: Place; load: () => Promise<{ default: Drawer }>; instead: preact.JSX.Element }) {
  const [File, setFile] = useState<Drawer | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  useEffect(() => {
    load().then((module) => setFile(() => module.default)).catch((error) => setFault(faultOf(error)));
  }, [load]);
  if (fault) return <Failure fault={fault} />;
  return File ? <File at={at} instead={instead} /> : <p class="quiet" role="status">{t("viewer.loading", { filename: at.filename })}</p>;
}

function Passages({ at }: { at: Place }) {
  const [read, setRead] = useState<Read | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    setRead(null);
    setFault(null);
    passages(at.documentId, stop.signal).then(setRead).catch((error) => !stop.signal.aborted && setFault(faultOf(error)));
    return () => stop.abort();
  }, [at.documentId]);
  if (fault) return <Failure fault={fault} />;
  if (!read) return <p class="quiet" role="status">{t("viewer.loading", { filename: at.filename })}</p>;
  const { chunks } = read;
  const sheet = chunks.some((one) => one.locator?.sheet);
  return (
    <>
      {read.cut && <p class="notice">{t("viewer.cut", { n: chunks.length })}</p>}
      {at.passages ? <Pieces chunks={chunks} /> : sheet ? <Grid at={at} chunks={chunks} /> : <Prose at={at} chunks={chunks} />}
    </>
  );
}

function Judge({ at }: { at: Place }) {
  const { number } = at.citation!;
  const given = rated(at.answerId!, number);
  const [thanked, setThanked] = useState(false);
  const judge = async (rating: Rating) => {
    const wanted = rating === given ? undefined : rating;
    if (await rate(at.answerId!, number, wanted)) setThanked(wanted !== undefined);
  };
  return (
    <footer class="judge">
      <span>{t("viewer.judge")}</span>
      <button type="button" aria-pressed={given === "RATING_UP"} onClick={() => judge("RATING_UP")}>{t("viewer.yes")}</button>
      <button type="button" aria-pressed={given === "RATING_DOWN"} onClick={() => judge("RATING_DOWN")}>{t("viewer.no")}</button>
      {thanked && given && <span class="quiet">{t("answer.thanks")}</span>}
    </footer>
  );
}

/** The passages of a document one by one, as the search has them. */
function Pieces({ chunks }: { chunks: Chunk[] }) {
  return (
    <ol class="pieces">
      {chunks.map((one) => (
        <li key={one.id}>
          <span class="quiet facts">
            <span>{place(one.locator)}</span>
            <span>{t("made.plan.tokens", { n: number(one.token_count) })}</span>
            {one.locator && one.locator.heading_path.length > 1 && <span dir="auto">{one.locator.heading_path.join(" › ")}</span>}
          </span>
          <p dir="auto">{one.text}</p>
        </li>
      ))}
    </ol>
  );
}

export async function save(documentId: string, filename: string, revision?: number): Promise<void> {
  await attempt(async () => keep(await download(documentId, revision), filename));
}

/** Let the browser keep bytes as a file. */
export function keep(blob: Blob, filename: string): void {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = filename;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 60_000);
}
