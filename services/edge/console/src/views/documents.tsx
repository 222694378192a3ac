// The documents of a collection: added, watched on their way into the search, retried, taken out.
import { useMemo, useRef, useState } from "preact/hooks";
import { call, freshId } from "../api/client";
import type { DocumentState, FailureReason } from "../api/types";
import { Confirm } from "../parts/confirm";
import { Failure, type Fault, faultOf } from "../parts/failure";
import { collections, go, loadCollections, me, show } from "../state";
import { bytes, counted, date, named, number, t } from "../strings";
import { save } from "../viewer/viewer";
import { add, dropped, forget, retry, sending } from "./uploading";
import { type Row, useDocuments } from "./watching";

const STATES: DocumentState[] = ["DOCUMENT_STATE_INDEXED", "DOCUMENT_STATE_PROCESSING", "DOCUMENT_STATE_UPLOADED", "DOCUMENT_STATE_ERROR"];
const FIRST = "default";
/** Failures that the same file meets again. */
const FINAL: FailureReason[] = ["FAILURE_REASON_UNSUPPORTED", "FAILURE_REASON_PASSWORD_PROTECTED", "FAILURE_REASON_NO_TEXT"];

export function Documents({ collection: opened }: { collection: string }) {
  const names = collections.value.map((one) => one.name);
  const collection = opened || names[0] || FIRST;
  const known = names.includes(collection);
  const { rows, ready, fault } = useDocuments(known ? collection : "");
  const [wrong, setWrong] = useState<Fault | null>(null);
  const [sought, setSought] = useState("");
  const [state, setState] = useState("");
  const shown = useMemo(() => {
    const words = sought.toLowerCase();
    return [...rows.values()]
      .filter(({ document }) => (!state || document.state === state) && document.filename.toLowerCase().includes(words))
      .sort((a, b) => (b.document.create_time ?? "").localeCompare(a.document.create_time ?? ""));
  }, [rows, sought, state]);
  // A collection that is not there yet is made by its first upload, which any writer may do.
  const writes = collections.value.find((one) => one.name === collection)?.may_write ?? me.value?.role !== "ROLE_READER";
  const doing = async (act: () => Promise<unknown>) => {
    setWrong(null);
    await act().catch((error) => setWrong(faultOf(error)));
  };
  return (
    <div class="page">
      <div class="row head">
        <h1>{t("nav.documents")}</h1>
        <span class="space" />
        <label class="inline-field">{t("documents.in")}
          <select value={collection} onChange={(event) => go("documents", event.currentTarget.value)}>
            {(known ? names : [...names, collection]).map((name) => <option value={name}>{name}</option>)}
          </select>
        </label>
      </div>
      {writes && <Drop collection={collection} />}
      <Sendings />
      {wrong && <Failure fault={wrong} />}
      {fault && <Failure fault={fault} />}
      {rows.size > 0 && (
        <div class="row filters">
          <input type="search" aria-label={t("documents.filter")} placeholder={t("documents.filter")} value={sought} onInput={(event) => setSought(event.currentTarget.value)} />
          <select aria-label={t("documents.state")} value={state} onChange={(event) => setState(event.currentTarget.value)}>
            <option value="">{t("documents.all")}</option>
            {STATES.map((one) => <option value={one}>{named("state", one)}</option>)}
          </select>
          <span class="quiet" role="status">{counted("documents", shown.length)}</span>
        </div>
      )}
      {known && !ready && !fault && <p class="quiet">{t("loading")}</p>}
      {(ready || !known) && rows.size === 0 && <p class="quiet">{t("documents.empty")}</p>}
      <ul class="list">{shown.map((row) => <One key={row.document.id} row={row} writes={writes} doing={doing} />)}</ul>
    </div>
  );
}

function Drop({ collection }: { collection: string }) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (files: File[]) => files.length && add(files, collection, () => {
    if (!collections.value.some((one) => one.name === collection)) void loadCollections();
  });
  return (
    <div
      class={over ? "drop over" : "drop"}
      onDragOver={(event) => { event.preventDefault(); setOver(true); }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (event.dataTransfer) void dropped(event.dataTransfer.items).then(take);
      }}
    >
      <button type="button" class="primary" onClick={() => input.current?.click()}>{t("documents.choose")}</button>
      <span class="quiet">{t("documents.drop")}</span>
      <input type="file" multiple hidden ref={input} aria-label={t("documents.choose")} onChange={(event) => {
        take(Array.from(event.currentTarget.files ?? []));
        event.currentTarget.value = "";
      }} />
    </div>
  );
}

function Sendings() {
  if (!sending.value.length) return null;
  return (
    <ul class="list sendings">
      {sending.value.map((one) => (
        <li key={one.id}>
          <div class="item-main">
            <span class="item-name">{one.file.name}</span>
            {one.state === "sending" && <progress max={1} value={one.part} aria-label={one.file.name} />}
            {one.state === "waiting" && <span class="quiet">{t("documents.waiting")}</span>}
            {one.state === "duplicate" && <span class="quiet">{t("documents.duplicate")}</span>}
            {one.state === "failed" && <span class="problem" role="alert">{one.problem}</span>}
          </div>
          <div class="item-actions">
            {one.state === "failed" && one.passing && <button type="button" onClick={() => retry(one.id, () => undefined)}>{t("documents.retry")}</button>}
            {(one.state === "failed" || one.state === "duplicate") && <button type="button" class="plain" onClick={() => forget(one.id)}>{t("close")}</button>}
          </div>
        </li>
      ))}
    </ul>
  );
}

function One({ row, writes, doing }: { row: Row; writes: boolean; doing: (act: () => Promise<unknown>) => Promise<void> }) {
  const { document } = row;
  const path = `/v1/documents/${encodeURIComponent(document.id)}`;
  const look = document.state === "DOCUMENT_STATE_ERROR" ? "bad" : document.state === "DOCUMENT_STATE_INDEXED" ? "good" : "busy";
  return (
    <li>
      <div class="item-main">
        <button type="button" class="link item-name" onClick={() => show({ documentId: document.id, filename: document.filename, mimeType: document.mime_type })}>{document.filename}</button>
        <span class="quiet facts">
          <span class={`state ${look}`}>{doneSoFar(row)}</span>
          <span>{bytes(Number(document.size_bytes))}</span>
          {document.page_count > 0 && <span>{t("documents.pages", { n: number(document.page_count) })}</span>}
          {document.chunk_count > 0 && <span>{counted("chunks", document.chunk_count)}</span>}
          <span>{date(document.create_time)}</span>
          {document.tags.map((tag) => <span class="tag">{tag}</span>)}
        </span>
        {document.failure && <span class="problem">{document.failure.message} {document.failure.hint}</span>}
        {document.warnings.map((one) => <span class="quiet">{one.text}</span>)}
      </div>
      <div class="item-actions">
        {writes && document.state === "DOCUMENT_STATE_ERROR" && !FINAL.includes(document.failure?.reason ?? "FAILURE_REASON_UNSPECIFIED") && (
          <button type="button" onClick={() => doing(() => call("POST", "/v1/documents:reindex", { document_ids: [document.id], request_id: freshId() }))}>{t("documents.retry")}</button>
        )}
        <button type="button" class="plain" aria-label={`${t("viewer.download")}: ${document.filename}`} onClick={() => doing(() => save(document.id, document.filename))}>{t("viewer.download")}</button>
        {writes && <Confirm label={t("delete")} about={document.filename} sure={t("delete.sure")} act={() => doing(() => call("DELETE", path))} />}
      </div>
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
