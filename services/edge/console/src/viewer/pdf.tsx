// A page of a PDF as it looks, with the quoted words marked in its text layer.
import * as pdfjs from "pdfjs-dist";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem, download } from "../api/client";
import { Icon } from "../parts/icons";
import { type Place, revisionOf } from "../state";
import { t } from "../strings";
import { Failure, type Fault, faultOf } from "../parts/failure";
import { findMost } from "./quote";

declare const PDF_WORKER: string;
pdfjs.GlobalWorkerOptions.workerSrc = PDF_WORKER;

export default function Pdf({ at }: { at: Place }) {
  const [file, setFile] = useState<pdfjs.PDFDocumentProxy | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const first = at.citation?.locator?.page?.page ?? at.source?.locator?.page?.page ?? 1;
  const [page, setPage] = useState(first);
  useEffect(() => setPage(first), [at]);
  useEffect(() => {
    const stop = new AbortController();
    let task: pdfjs.PDFDocumentLoadingTask | undefined;
    setFile(null);
    setFault(null);
    (async () => {
      const cited = download(at.documentId, revisionOf(at), stop.signal);
      // Where the cited file is no longer kept the present one is shown, and the viewer says so.
      const kept = cited.catch((error) => {
        if (error instanceof Problem && error.reason === "REVISION_NOT_FOUND") return download(at.documentId, undefined, stop.signal);
        throw error;
      });
      const bytes = await (await kept).arrayBuffer();
      task = pdfjs.getDocument({ data: new Uint8Array(bytes), isEvalSupported: false, useSystemFonts: true, useWasm: false });
      setFile(await task.promise);
    })().catch((error) => !stop.signal.aborted && setFault(faultOf(error)));
    return () => {
      stop.abort();
      task?.destroy();
    };
  }, [at.documentId, revisionOf(at)]);
  if (fault) return <Failure fault={fault} />;
  if (!file) return <p class="quiet" role="status">{t("viewer.loading", { filename: at.filename })}</p>;
  return (
    <>
      <div class="pages">
        <button type="button" class="plain" disabled={page <= 1} aria-label={t("viewer.previous")} onClick={() => setPage(page - 1)}><Icon name="left" /></button>
        <span>{t("viewer.page", { page, pages: file.numPages })}</span>
        <button type="button" class="plain" disabled={page >= file.numPages} aria-label={t("viewer.next")} onClick={() => setPage(page + 1)}><Icon name="right" /></button>
      </div>
      <Page file={file} page={Math.min(page, file.numPages)} quote={at.citation?.quote ?? at.source?.text ?? ""} seek={page === first} name={at.filename} />
    </>
  );
}

interface PageProps {
  file: pdfjs.PDFDocumentProxy;
  page: number;
  quote: string;
  seek: boolean;
  name: string;
}

function Page({ file, page, quote, seek, name }: PageProps) {
  const box = useRef<HTMLDivElement>(null);
  const [missed, setMissed] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  useEffect(() => {
    let over = false;
    let drawing: pdfjs.RenderTask | undefined;
    setMissed(false);
    (async () => {
      const sheet = await file.getPage(page);
      const holder = box.current;
      if (over || !holder) return;
      const scale = holder.clientWidth / sheet.getViewport({ scale: 1 }).width;
      const viewport = sheet.getViewport({ scale });
      const canvas = document.createElement("canvas");
      const density = Math.min(devicePixelRatio || 1, 2);
      canvas.width = Math.floor(viewport.width * density);
      canvas.height = Math.floor(viewport.height * density);
      const layer = document.createElement("div");
      layer.className = "text-layer";
      holder.style.setProperty("--total-scale-factor", String(scale));
      holder.style.height = `${viewport.height}px`;
      drawing = sheet.render({ canvas, viewport, transform: [density, 0, 0, density, 0, 0] });
      const text = new pdfjs.TextLayer({ textContentSource: sheet.streamTextContent(), container: layer, viewport });
      await Promise.all([drawing.promise, text.render()]);
      if (over) return;
      holder.replaceChildren(canvas, layer);
      holder.dataset.page = String(page);
      if (quote && seek) {
        const marked = mark(text, quote);
        setMissed(!marked);
        (marked ?? holder).scrollIntoView({ block: marked ? "center" : "start" });
      }
    })().catch((error) => !over && setFault(faultOf(error)));
    return () => {
      over = true;
      drawing?.cancel();
    };
  }, [file, page, quote]);
  return (
    <>
      {missed && <p class="notice">{t("viewer.notfound")}</p>}
      {fault && <Failure fault={fault} />}
      <div class="pdf-page" dir="ltr" ref={box} role="document" aria-label={t("viewer.pdfpage", { page, filename: name })} tabIndex={0} />
    </>
  );
}

/** Mark the quote in a drawn text layer and return the first marked piece, or null where the words are not on the page. */
function mark(layer: pdfjs.TextLayer, quote: string): HTMLElement | null {
  const texts = layer.textContentItemsStr;
  // A space between the pieces keeps words apart; the search looks at none.
  const found = findMost(texts.join(" "), quote);
  if (!found) return null;
  let first: HTMLElement | null = null;
  let start = 0;
  texts.forEach((text, index) => {
    const from = Math.max(found[0] - start, 0);
    const to = Math.min(found[1] - start, text.length);
    const div = layer.textDivs[index];
    if (from < to && div && text.trim()) {
      const piece = document.createElement("mark");
      piece.textContent = text.slice(from, to);
      div.replaceChildren(text.slice(0, from), piece, text.slice(to));
      first ??= piece;
    }
    start += text.length + 1;
  });
  return first;
}
