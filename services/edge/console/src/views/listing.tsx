// The list of a collection's documents, and what is done with one of them.
import { Component, createRef } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { call, freshId, upload } from "../api/client";
import type { Document, FailureReason } from "../api/types";
import { Confirm } from "../parts/confirm";
import { advised } from "../parts/failure";
import { show } from "../state";
import { bytes, counted, date, named, number, t } from "../strings";
import { save } from "../viewer/viewer";
import type { Row } from "./watching";

export type Doing = (act: () => Promise<unknown>) => Promise<void>;
/** Failures that the same file meets again. */
const FINAL: FailureReason[] = ["FAILURE_REASON_UNSUPPORTED", "FAILURE_REASON_PASSWORD_PROTECTED", "FAILURE_REASON_NO_TEXT"];

export const pathOf = (document: Document) => `/v1/documents/${encodeURIComponent(document.id)}`;
export const listed = (words: string) => words.split(",").map((one) => one.trim()).filter(Boolean);
export const tagged = (document: Document, tags: string[]) => call("PATCH", `${pathOf(document)}?update_mask=tags`, { tags: [...new Set(tags)], etag: document.etag });

/** The tags of a document, changed in place. */
function Tags({ document, doing, done }: { document: Document; doing: Doing; done: () => void }) {
  const [words, setWords] = useState(document.tags.join(", "));
  return (
    <form class="row" onSubmit={(event) => {
      event.preventDefault();
      void doing(async () => {
        await tagged(document, listed(words));
        done();
      });
    }}>
      <input aria-label={`${t("documents.tags")}: ${document.filename}`} placeholder={t("documents.tags.lead")} value={words} maxLength={500} autofocus onInput={(event) => setWords(event.currentTarget.value)} />
      <button class="primary">{t("save")}</button>
      <button type="button" class="plain" onClick={done}>{t("cancel")}</button>
    </form>
  );
}

interface Props {
  rows: Row[];
  writes: boolean;
  doing: Doing;
  chosen: ReadonlySet<string>;
  choose: (ids: string[], to: boolean) => void;
}

/** Rows of a block. The browser lays out and paints a block only near what is seen of the list. */
const BLOCK = 16;

/** All documents are in the page, to be found by the browser and by screen readers; what is done with one is made once it is near. */
export function Listing({ rows, ...props }: Props) {
  const blocks = useMemo(() => Array.from({ length: Math.ceil(rows.length / BLOCK) }, (_, at) => rows.slice(at * BLOCK, (at + 1) * BLOCK)), [rows]);
  if (!rows.length) return null;
  return <div role="list">{blocks.map((some, at) => <Block key={at} rows={some} first={at === 0} {...props} />)}</div>;
}

class Block extends Component<Props & { first: boolean }, { near: boolean }> {
  override state = { near: this.props.first };
  private readonly element = createRef<HTMLUListElement>();
  private watching: IntersectionObserver | undefined;

  override shouldComponentUpdate({ rows, writes, chosen }: Props, { near }: { near: boolean }) {
    const before = this.props;
    return near !== this.state.near || writes !== before.writes || rows.length !== before.rows.length
      || rows.some((row, at) => row !== before.rows[at] || chosen.has(row.document.id) !== before.chosen.has(row.document.id));
  }

  override componentDidMount() {
    if (this.state.near) return;
    const element = this.element.current!;
    // Once near it stays as it is: what is typed in a row is not lost by scrolling.
    this.watching = new IntersectionObserver((all) => {
      if (!all.some((one) => one.isIntersecting)) return;
      this.setState({ near: true });
      this.watching!.disconnect();
    }, { root: element.closest("main"), rootMargin: "200% 0%" });
    this.watching.observe(element);
  }

  override componentWillUnmount() {
    this.watching?.disconnect();
  }

  override render() {
    const { rows, writes, doing, chosen, choose } = this.props;
    return (
      <ul class="list block" role="presentation" ref={this.element}>
        {rows.map((row) => (
          <One key={row.document.id} row={row} near={this.state.near} writes={writes} doing={doing} chosen={chosen.has(row.document.id)} choose={choose} />
        ))}
      </ul>
    );
  }
}

function Name({ document: { id, filename, mime_type: mimeType } }: { document: Document }) {
  return <button type="button" class="link item-name" dir="auto" onClick={() => show({ documentId: id, filename, mimeType })}>{filename}</button>;
}

interface OneProps {
  row: Row;
  /** Far away there is only the name, and it stays the same element: it may have the focus. */
  near: boolean;
  writes: boolean;
  doing: Doing;
  chosen: boolean;
  choose: (ids: string[], to: boolean) => void;
}

function One({ row, near, writes, doing, chosen, choose }: OneProps) {
  const { document } = row;
  const [tagging, setTagging] = useState(false);
  const file = useRef<HTMLInputElement>(null);
  const place = { documentId: document.id, filename: document.filename, mimeType: document.mime_type };
  const path = pathOf(document);
  const replace = (given: File) => doing(() => upload(`${path}:replace`, [given], { request_id: freshId() }, () => undefined));
  const look = document.state === "DOCUMENT_STATE_ERROR" ? "bad" : document.state === "DOCUMENT_STATE_INDEXED" ? "good" : "busy";
  return (
    <li role="listitem">
      {near && writes && <input type="checkbox" aria-label={t("documents.choose.one", { filename: document.filename })} checked={chosen} onChange={(event) => choose([document.id], event.currentTarget.checked)} />}
      <div class="item-main">
        <Name document={document} />
        {near && <>
          <span class="quiet facts">
            <span class={`state ${look}`}>{doneSoFar(row)}</span>
            <span>{bytes(Number(document.size_bytes))}</span>
            {document.page_count > 0 && <span>{t("documents.pages", { n: number(document.page_count) })}</span>}
            {document.chunk_count > 0 && <span>{counted("chunks", document.chunk_count)}</span>}
            <span>{date(document.create_time)}</span>
            {document.tags.map((tag) => <span class="tag" dir="auto">{tag}</span>)}
          </span>
          {document.failure && <span class="problem" dir="auto">{advised(document.failure.message, document.failure.hint)}</span>}
          {document.warnings.map((one) => <span class="quiet" dir="auto">{one.text}</span>)}
          {tagging && <Tags document={document} doing={doing} done={() => setTagging(false)} />}
        </>}
      </div>
      {near && <div class="item-actions">
        {writes && document.state === "DOCUMENT_STATE_ERROR" && !FINAL.includes(document.failure?.reason ?? "FAILURE_REASON_UNSPECIFIED") && (
          <button type="button" onClick={() => doing(() => call("POST", "/v1/documents:reindex", { document_ids: [document.id], request_id: freshId() }))}>{t("documents.retry")}</button>
        )}
        {document.chunk_count > 0 && <button type="button" class="plain" aria-label={`${t("documents.passages")}: ${document.filename}`} onClick={() => show({ ...place, passages: true })}>{t("documents.passages")}</button>}
        {writes && <button type="button" class="plain" aria-label={`${t("documents.tags")}: ${document.filename}`} onClick={() => setTagging(!tagging)}>{t("documents.tags")}</button>}
        {writes && <button type="button" class="plain" aria-label={`${t("documents.replace")}: ${document.filename}`} onClick={() => file.current?.click()}>{t("documents.replace")}</button>}
        {writes && <input type="file" hidden ref={file} aria-label={`${t("documents.replace")}: ${document.filename}`} onChange={({ currentTarget }) => {
          const [given] = currentTarget.files ?? [];
          if (given) void replace(given);
          currentTarget.value = "";
        }} />}
        <button type="button" class="plain" aria-label={`${t("viewer.download")}: ${document.filename}`} onClick={() => doing(() => save(document.id, document.filename))}>{t("viewer.download")}</button>
        {writes && <Confirm label={t("delete")} about={document.filename} sure={t("delete.sure")} act={() => doing(() => call("DELETE", path))} />}
      </div>}
    </li>
  );
}

function doneSoFar({ document, progress }: Row): string {
  if (document.waiting_reason !== "WAITING_REASON_UNSPECIFIED") return t("documents.waits");
  if (document.state === "DOCUMENT_STATE_PROCESSING" && progress) {
    if (progress.phase === "PROGRESS_PHASE_PARSING") {
      return progress.pages_total ? t("documents.reading.pages", { done: progress.pages_parsed, all: progress.pages_total }) : t("documents.reading");
    }
    if (progress.phase === "PROGRESS_PHASE_INDEXING" && progress.chunks_total) {
      return t("documents.indexing", { done: progress.chunks_stored, all: progress.chunks_total });
    }
  }
  return named("state", document.state);
}
