// The documents of a collection: added, watched on their way into the search, retried, taken out.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, freshId, upload } from "../api/client";
import type { Document, DocumentState, FailureReason } from "../api/types";
import { Confirm } from "../parts/confirm";
import { Failure, type Fault, faultOf } from "../parts/failure";
import { collections, go, loadCollections, me, show } from "../state";
import { bytes, counted, date, isolate, language, named, number, t } from "../strings";
import { save } from "../viewer/viewer";
import { add, dropped, forget, retry, sending } from "./uploading";
import { type Row, useDocuments } from "./watching";

const STATES: DocumentState[] = ["DOCUMENT_STATE_INDEXED", "DOCUMENT_STATE_PROCESSING", "DOCUMENT_STATE_UPLOADED", "DOCUMENT_STATE_ERROR"];
const FIRST = "default";
type Doing = (act: () => Promise<unknown>) => Promise<void>;
/** Ways to order documents; of equals the newest first. */
const newest = (a: Document, b: Document) => (b.create_time ?? "").localeCompare(a.create_time ?? "");
const ORDERS = {
  newest,
  oldest: (a: Document, b: Document) => newest(b, a),
  name: (a: Document, b: Document) => a.filename.localeCompare(b.filename, language.value, { numeric: true }) || newest(a, b),
  size: (a: Document, b: Document) => Number(b.size_bytes) - Number(a.size_bytes) || newest(a, b),
};
type Order = keyof typeof ORDERS;
/** Failures that the same file meets again. */
const FINAL: FailureReason[] = ["FAILURE_REASON_UNSUPPORTED", "FAILURE_REASON_PASSWORD_PROTECTED", "FAILURE_REASON_NO_TEXT"];

export function Documents({ collection: opened }: { collection: string }) {
  const names = collections.value.map((one) => one.name);
  const collection = opened || names[0] || FIRST;
  const known = names.includes(collection);
  // It may have been made since the list was read, in another tab or by another program.
  useEffect(() => {
    if (!known) void loadCollections().catch(() => {});
  }, [collection]);
  const { rows, ready, fault } = useDocuments(known ? collection : "");
  const [wrong, setWrong] = useState<Fault | null>(null);
  const [sought, setSought] = useState("");
  const [state, setState] = useState("");
  const [order, setOrder] = useState<Order>("newest");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(() => {
    const words = sought.toLowerCase();
    return [...rows.values()]
      .filter(({ document }) => (!state || document.state === state) && document.filename.toLowerCase().includes(words))
      .sort((a, b) => ORDERS[order](a.document, b.document));
  }, [rows, sought, state, order]);
  // What is not shown is not chosen: nothing is deleted that one does not see.
  const picked = shown.filter((row) => chosen.has(row.document.id)).map((row) => row.document);
  const choose = (ids: string[], to: boolean) => {
    const now = new Set(chosen);
    for (const id of ids) if (to) now.add(id); else now.delete(id);
    setChosen(now);
  };
  const all = shown.length > 0 && picked.length === shown.length;
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
            {(known ? names : [...names, collection]).map((name) => <option value={name}>{isolate(name)}</option>)}
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
          <select aria-label={t("documents.order")} value={order} onChange={(event) => setOrder(event.currentTarget.value as Order)}>
            {(Object.keys(ORDERS) as Order[]).map((one) => <option value={one}>{named("order", one)}</option>)}
          </select>
          <span class="quiet" role="status">{counted("documents", shown.length)}</span>
        </div>
      )}
      {writes && shown.length > 0 && (
        <div class="row chosen">
          <label class="inline-field"><input type="checkbox" checked={all} onChange={(event) => choose(shown.map((row) => row.document.id), event.currentTarget.checked)} />{t("documents.choose.all")}</label>
          {picked.length > 0 && <Many key={picked.length} documents={picked} doing={doing} done={() => setChosen(new Set())} />}
        </div>
      )}
      {known && !ready && !fault && <p class="quiet">{t("loading")}</p>}
      {(ready || !known) && rows.size === 0 && <p class="quiet">{t("documents.empty")}</p>}
      <ul class="list">{shown.map((row) => (
        <One
          key={row.document.id} row={row} writes={writes} doing={doing}
          chosen={chosen.has(row.document.id)} choose={(to) => choose([row.document.id], to)}
        />
      ))}</ul>
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
            <span class="item-name" dir="auto">{one.file.name}</span>
            {one.state === "sending" && <progress max={1} value={one.part} aria-label={one.file.name} />}
            {one.state === "waiting" && <span class="quiet">{t("documents.waiting")}</span>}
            {one.state === "duplicate" && <span class="quiet">{t("documents.duplicate")}</span>}
            {one.state === "failed" && <span class="problem" role="alert" dir="auto">{one.problem}</span>}
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

/** What is done with all chosen documents; a failure ends it, and says at which one. */
function Many({ documents, doing, done }: { documents: Document[]; doing: Doing; done: () => void }) {
  const [tags, setTags] = useState<string | null>(null);
  const each = (act: (document: Document) => Promise<unknown>) => doing(async () => {
    for (const one of documents) await act(one);
    done();
  });
  const count = counted("documents", documents.length);
  return (
    <>
      <Confirm label={t("delete")} about={count} sure={t("documents.delete.sure", { documents: count })} act={() => each((one) => call("DELETE", `${pathOf(one)}?allow_missing=true`))} />
      {tags === null ? <button type="button" class="plain" onClick={() => setTags("")}>{t("documents.tag")}</button> : (
        <form class="row" onSubmit={(event) => {
          event.preventDefault();
          void each((one) => tagged(one, [...one.tags, ...listed(tags)]));
        }}>
          <input aria-label={t("documents.tags")} placeholder={t("documents.tags.lead")} value={tags} maxLength={500} autofocus onInput={(event) => setTags(event.currentTarget.value)} />
          <button class="primary">{t("save")}</button>
          <button type="button" class="plain" onClick={() => setTags(null)}>{t("cancel")}</button>
        </form>
      )}
    </>
  );
}

const pathOf = (document: Document) => `/v1/documents/${encodeURIComponent(document.id)}`;
const listed = (words: string) => words.split(",").map((one) => one.trim()).filter(Boolean);
const tagged = (document: Document, tags: string[]) => call("PATCH", `${pathOf(document)}?update_mask=tags`, { tags: [...new Set(tags)], etag: document.etag });

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

interface OneProps {
  row: Row;
  writes: boolean;
  doing: Doing;
  chosen: boolean;
  choose: (to: boolean) => void;
}

function One({ row, writes, doing, chosen, choose }: OneProps) {
  const { document } = row;
  const [tagging, setTagging] = useState(false);
  const file = useRef<HTMLInputElement>(null);
  const replace = (given: File) => doing(() => upload(`/v1/documents/${encodeURIComponent(document.id)}:replace`, given, { request_id: freshId() }, () => undefined));
  const place = { documentId: document.id, filename: document.filename, mimeType: document.mime_type };
  const path = `/v1/documents/${encodeURIComponent(document.id)}`;
  const look = document.state === "DOCUMENT_STATE_ERROR" ? "bad" : document.state === "DOCUMENT_STATE_INDEXED" ? "good" : "busy";
  return (
    <li>
      {writes && <input type="checkbox" aria-label={t("documents.choose.one", { filename: document.filename })} checked={chosen} onChange={(event) => choose(event.currentTarget.checked)} />}
      <div class="item-main">
        <button type="button" class="link item-name" dir="auto" onClick={() => show(place)}>{document.filename}</button>
        <span class="quiet facts">
          <span class={`state ${look}`}>{doneSoFar(row)}</span>
          <span>{bytes(Number(document.size_bytes))}</span>
          {document.page_count > 0 && <span>{t("documents.pages", { n: number(document.page_count) })}</span>}
          {document.chunk_count > 0 && <span>{counted("chunks", document.chunk_count)}</span>}
          <span>{date(document.create_time)}</span>
          {document.tags.map((tag) => <span class="tag" dir="auto">{tag}</span>)}
        </span>
        {document.failure && <span class="problem" dir="auto">{document.failure.message} {document.failure.hint}</span>}
        {document.warnings.map((one) => <span class="quiet" dir="auto">{one.text}</span>)}
        {tagging && <Tags document={document} doing={doing} done={() => setTagging(false)} />}
      </div>
      <div class="item-actions">
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
