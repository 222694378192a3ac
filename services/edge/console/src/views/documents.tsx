// The documents of a collection: added, watched on their way into the search, retried, taken out.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call } from "../api/client";
import type { Document, DocumentState } from "../api/types";
import { Confirm } from "../parts/confirm";
import { Failure, type Fault, faultOf } from "../parts/failure";
import { collectionAt, collections, go, loadCollections, me, titleOf, told } from "../state";
import { counted, isolate, language, named, t } from "../strings";
import { type Doing, Listing, listed, pathOf, tagged } from "./listing";
import { add, dropped, forget, retry, sending } from "./uploading";
import { useDocuments } from "./watching";

const STATES: DocumentState[] = ["DOCUMENT_STATE_INDEXED", "DOCUMENT_STATE_PROCESSING", "DOCUMENT_STATE_UPLOADED", "DOCUMENT_STATE_ERROR"];
const FIRST = "default";
/** Ways to order documents; of equals the newest first. */
const newest = (a: Document, b: Document) => (b.create_time ?? "").localeCompare(a.create_time ?? "");
const ORDERS = {
  newest,
  oldest: (a: Document, b: Document) => newest(b, a),
  name: (a: Document, b: Document) => a.filename.localeCompare(b.filename, language.value, { numeric: true }) || newest(a, b),
  size: (a: Document, b: Document) => Number(b.size_bytes) - Number(a.size_bytes) || newest(a, b),
};
type Order = keyof typeof ORDERS;

export function Documents({ collection: opened }: { collection: string }) {
  const known = opened ? collectionAt(opened) : collections.value[0];
  const collection = known?.id || opened || FIRST;
  // It may have been made since the list was read, in another tab or by another program.
  useEffect(() => {
    if (!known) void loadCollections().catch(() => {});
  }, [collection]);
  const { rows, ready, fault } = useDocuments(known?.id ?? "");
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
  const choose = useCallback((ids: string[], to: boolean) => setChosen((before) => {
    const now = new Set(before);
    for (const id of ids) if (to) now.add(id); else now.delete(id);
    return now;
  }), []);
  const all = shown.length > 0 && picked.length === shown.length;
  // A collection that is not there yet is made by its first upload, which any writer may do.
  const writes = known?.may_write ?? me.value?.role !== "ROLE_READER";
  const doing: Doing = useCallback(async (act) => {
    setWrong(null);
    await act().catch((error) => setWrong(faultOf(error)));
  }, []);
  return (
    <div class="page">
      <div class="row head">
        <h1>{t("nav.documents")}</h1>
        <span class="space" />
        <label class="inline-field">{t("documents.in")}
          <select value={collection} onChange={(event) => go("documents", event.currentTarget.value)}>
            {collections.value.map((one) => <option value={one.id}>{isolate(titleOf(one))}</option>)}
            {!known && <option value={collection}>{isolate(collection)}</option>}
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
      <Listing rows={shown} chosen={chosen} writes={writes} doing={doing} choose={choose} />
    </div>
  );
}

/** Of the files of a drop that cannot be read, so many are named. */
const UNREAD_SHOWN = 10;

function Drop({ collection }: { collection: string }) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (files: File[]) => add(files, collection);
  const drop = async (items: DataTransferItemList) => {
    const { files, unread } = await dropped(items);
    take(files);
    const shown = unread.length > UNREAD_SHOWN ? [...unread.slice(0, UNREAD_SHOWN), "…"] : unread;
    if (shown.length) told.value = t("attach.failed", { filename: shown.join(", ") });
  };
  return (
    <div
      class={over ? "drop over" : "drop"}
      onDragOver={(event) => { event.preventDefault(); setOver(true); }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (event.dataTransfer) void drop(event.dataTransfer.items);
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

/** Of a large folder only so many of the files that wait are shown, and how many more there are. */
const WAITING_SHOWN = 10;

function Sendings() {
  const waiting = sending.value.filter((one) => one.state === "waiting");
  const further = new Set(waiting.slice(WAITING_SHOWN));
  if (!sending.value.length) return null;
  return (
    <ul class="list sendings">
      {sending.value.filter((one) => !further.has(one)).map((one) => (
        <li key={one.id}>
          <div class="item-main">
            <span class="item-name" dir="auto">{one.file.name}</span>
            {one.state === "sending" && <progress max={1} value={one.part} aria-label={one.file.name} />}
            {one.state === "waiting" && <span class="quiet">{t("documents.waiting")}</span>}
            {one.state === "duplicate" && <span class="quiet">{t("documents.duplicate")}</span>}
            {one.state === "failed" && <span class="problem" role="alert" dir="auto">{one.problem}</span>}
          </div>
          <div class="item-actions">
            {one.state === "failed" && one.passing && <button type="button" onClick={() => retry(one.id)}>{t("documents.retry")}</button>}
            {(one.state === "failed" || one.state === "duplicate") && <button type="button" class="plain" onClick={() => forget(one.id)}>{t("close")}</button>}
          </div>
        </li>
      ))}
      {further.size > 0 && (
        <li><div class="item-main"><span class="item-name">+ {counted("documents", further.size)}</span><span class="quiet">{t("documents.waiting")}</span></div></li>
      )}
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
