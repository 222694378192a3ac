// Files attached to a conversation: they go into a private collection of its own, which forgets them after a week.
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Problem, call, freshId, upload } from "../api/client";
import { key } from "../api/session";
import type { CreateCollectionResponse, Document, UploadDocumentResponse, WatchDocumentsResponse } from "../api/types";
import { advised, faultOf } from "../parts/failure";
import { Icon } from "../parts/icons";
import { announced, loadCollections, me, personOf } from "../state";
import { t } from "../strings";
import { watchedToEnd } from "./watching";

const DAYS = 7;

interface Attached {
  id: string;
  conversation: string;
  collection: string;
  /** Once it is uploaded; empty until then. */
  document: string;
  filename: string;
  state: "reading" | "ready" | "failed";
  problem: string;
}

/** Outlives a look at another view: a file is read on, and its conversation opened again. */
const attached = signal<Attached[]>([]);

/** Whose files they are. */
let writer = "";
// A file that waits its turn is not sent after a sign-out, or by somebody else.
me.subscribe((found) => {
  if (!found) return;
  if (personOf(found) !== writer) attached.value = [];
  writer = personOf(found);
});
key.subscribe((now) => { if (!now) attached.value = []; });

const change = (id: string, to: Partial<Attached>) => {
  attached.value = attached.value.map((one) => (one.id === id ? { ...one, ...to } : one));
};

/** Names of collections are unique among a user's private ones; the conversation's id keeps them apart. */
const collectionOf = (conversation: string) => `Files ${conversation.slice(0, 12)}`;

async function made(conversation: string): Promise<string> {
  const name = collectionOf(conversation);
  try {
    await call<CreateCollectionResponse>("POST", "/v1/collections", {
      name, visibility: "VISIBILITY_PRIVATE", description: t("attach.collection"), settings: { ttl: `${DAYS * 86_400}s` },
    });
    await loadCollections();
  } catch (error) {
    if (!(error instanceof Problem) || error.reason !== "COLLECTION_EXISTS") throw error;
  }
  return name;
}

const readingIn = (collection: string) => attached.value.filter((one) => one.collection === collection && one.state === "reading" && one.document);

function end(one: Attached, state: "ready" | "failed", problem = ""): void {
  if (!attached.value.some((other) => other.id === one.id)) return; // somebody else is here now
  change(one.id, { state, problem });
  announced.value = t(state === "ready" ? "attach.ready" : "attach.failed", { filename: one.filename });
}

/** Say what has become of a document, where it is one of the files that are read. */
function settle(collection: string, { id, state, failure }: Document): void {
  if (state !== "DOCUMENT_STATE_INDEXED" && state !== "DOCUMENT_STATE_ERROR") return;
  const problem = failure ? advised(failure.message, failure.hint) : "";
  for (const one of readingIn(collection)) if (one.document === id) end(one, state === "DOCUMENT_STATE_INDEXED" ? "ready" : "failed", problem);
}

/** Collections whose files are watched, with the documents as they were last seen: one stream for all files of a conversation. */
const watched = new Map<string, Map<string, Document>>();

async function watch(collection: string): Promise<void> {
  const known = new Map<string, Document>();
  watched.set(collection, known);
  try {
    await watchedToEnd<WatchDocumentsResponse>(`/v1/collections/${encodeURIComponent(collection)}/documents:watch`, ({ changed, deleted }) => {
      if (changed?.document) known.set(changed.document.id, changed.document);
      if (changed?.document) settle(collection, changed.document);
      for (const one of readingIn(collection)) if (one.document === deleted?.document_id) end(one, "failed");
      const over = !readingIn(collection).length;
      if (over) watched.delete(collection);
      return over;
    });
  } catch (error) {
    watched.delete(collection);
    for (const one of readingIn(collection)) end(one, "failed", faultOf(error).detail);
  }
}

async function send(one: Attached, file: File): Promise<void> {
  const { id, collection } = one;
  if (!attached.value.some((other) => other.id === id)) return;
  try {
    const sent = await upload<UploadDocumentResponse>("/v1/documents", [file], { collection, request_id: id }, () => undefined);
    const document = sent.document!;
    change(id, { document: document.id });
    // The stream may have told of it before its upload was answered; what it told of an earlier revision has passed.
    const seen = watched.get(collection)?.get(document.id);
    settle(collection, seen && seen.revision >= document.revision ? seen : document);
    if (readingIn(collection).length && !watched.has(collection)) void watch(collection);
  } catch (error) {
    end(one, "failed", faultOf(error).detail);
  }
}

/** The uploads, one after the other: browsers hold six connections of HTTP/1.1 to a host, which other calls need too. */
let uploads: Promise<void> = Promise.resolve();

/** Attach files, and return the collection that they go into once it is there. */
async function attach(files: File[], conversation: string): Promise<string> {
  const collection = await made(conversation);
  for (const file of files) {
    const one: Attached = { id: freshId(), conversation, collection, document: "", filename: file.name, state: "reading", problem: "" };
    attached.value = [...attached.value, one];
    uploads = uploads.then(() => send(one, file));
  }
  return collection;
}

interface Props {
  /** Returns the id of the conversation, which is made if there is none yet. */
  conversation: () => Promise<string>;
  /** Asks from this collection too, in the conversation that the files were attached to. */
  added: (conversation: string, collection: string) => Promise<unknown>;
  failed: (error: unknown) => void;
}

export function Attach({ conversation, added, failed }: Props) {
  const input = useRef<HTMLInputElement>(null);
  if (me.value?.role === "ROLE_READER") return null;
  return (
    <>
      <button type="button" class="plain" aria-label={t("attach.files")} title={t("attach.lead", { days: DAYS })} onClick={() => input.current?.click()}><Icon name="attach" /></button>
      <input type="file" multiple hidden ref={input} aria-label={t("attach.files")} onChange={({ currentTarget }) => {
        const files = Array.from(currentTarget.files ?? []);
        currentTarget.value = "";
        if (files.length) conversation().then(async (id) => added(id, await attach(files, id))).catch(failed);
      }} />
    </>
  );
}

/** The files of a conversation that were attached in this tab, and how each stands. */
export function Attachments({ conversation }: { conversation: string }) {
  const own = attached.value.filter((one) => one.conversation === conversation && conversation);
  if (!own.length) return null;
  return (
    <ul class="attached" aria-label={t("attach.files")}>
      {own.map((one) => (
        <li>
          <span class={`state ${one.state === "ready" ? "good" : one.state === "failed" ? "bad" : "busy"}`}><bdi>{one.filename}</bdi></span>
          {one.state === "reading" && <span class="quiet"> {t("documents.reading")}</span>}
          {one.problem && <span class="problem" dir="auto"> {one.problem}</span>}
        </li>
      ))}
    </ul>
  );
}
