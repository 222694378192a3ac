// A Word or OpenDocument text drawn as the document that it is, scrolled to the quoted words; loaded when one is opened.
import { useEffect, useRef, useState } from "preact/hooks";
import { download } from "../api/client";
import { type Place, revisionOf } from "../state";
import { t } from "../strings";
import { drawDocx } from "./docx";
import { markWords } from "./mark";
import { drawOdt } from "./odt";

/** Bytes up to which a file is drawn; a larger one is shown by its passages. */
const MOST = 20_000_000;
const ODT = "application/vnd.oasis.opendocument.text";
/** White paper in either theme, as the author saw it; pages are as wide as the panel. */
const PAPER = `
:host { contain: content; display: block; color-scheme: light; background: #fff; color: #111; border-radius: .375rem; overflow-wrap: anywhere; }
.paper { padding: 1.25rem 1.5rem; }
.docx-wrapper { all: unset; display: block; }
.docx-wrapper > section.docx { display: block; width: auto; min-height: 0; padding: 1.25rem 1.5rem !important; margin: 0; box-shadow: none; }
img { max-width: 100%; height: auto; }
table { max-width: 100%; border-collapse: collapse; }
.paper td, .paper th { border: 1px solid #bbb; padding: .25rem .5rem; text-align: start; vertical-align: top; }
mark { background: #ffe08a; color: #111; }
`;

/** What a file is drawn as: elements of ours, and the style sheets of the document. */
export interface Drawing {
  root: HTMLElement;
  styles: string[];
}

interface Props {
  at: Place;
  /** What is shown where the file cannot be had or read, or is too large. */
  instead: preact.JSX.Element;
}

export default function OfficeFile({ at, instead }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const [drawing, setDrawing] = useState<Drawing | null>(null);
  const [failed, setFailed] = useState(false);
  const [marked, setMarked] = useState(true);
  const revision = revisionOf(at);
  useEffect(() => {
    const stop = new AbortController();
    let drawn: Drawing | null = null;
    setDrawing(null);
    setFailed(false);
    download(at.documentId, revision, stop.signal).then(async (file) => {
      if (file.size > MOST) throw new Error("too large");
      const made = await (at.mimeType === ODT ? drawOdt : drawDocx)(file);
      if (stop.signal.aborted) release(made);
      else setDrawing((drawn = made));
    }).catch(() => !stop.signal.aborted && setFailed(true));
    return () => {
      stop.abort();
      if (drawn) release(drawn);
    };
  }, [at.documentId, revision, at.mimeType]);
  useEffect(() => {
    if (!drawing || !host.current) return;
    // A shadow root keeps the document's styles off the page. Sheets made here are no inline styles to the page's policy.
    const shadow = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [...drawing.styles, PAPER].map((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      return sheet;
    });
    shadow.replaceChildren(drawing.root);
    const quote = at.citation?.quote || at.source?.text || "";
    const first = quote ? markWords(drawing.root, quote) : null;
    setMarked(!quote || first !== null);
    first?.scrollIntoView({ block: "center" });
  }, [drawing, at]);
  if (failed) return instead;
  return (
    <>
      {!marked && <p class="notice">{t("viewer.textnotfound")}</p>}
      {!drawing && <p class="quiet" role="status">{t("viewer.loading", { filename: at.filename })}</p>}
      {/* A document's own styles may place the host, but not outside this frame. */}
      <div class="office-frame"><div class="office" ref={host} /></div>
    </>
  );
}

function release({ root }: Drawing): void {
  for (const image of root.querySelectorAll("img")) URL.revokeObjectURL(image.src);
}
