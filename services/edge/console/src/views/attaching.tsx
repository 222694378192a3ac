// Files attached to a conversation: they go into a private collection of its own, which forgets them after a week.
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Problem, call, freshId, upload } from "../api/client";
import type { CreateCollectionResponse, Document, UploadDocumentResponse, WatchDocumentResponse } from "../api/types";
import { advised, faultOf } from "../parts/failure";
import { Icon } from "../parts/icons";
import { announced, loadCollections, me } from "../state";
import { t } from "../strings";
import { watchedToEnd } from "./watching";

const DAYS = 7;

interface Attached {
  id: string;
  conversation: string;
  filename: string;
  state: "reading" | "ready" | "failed";
  problem: string;
}

/** Outlives a look at another view: a file is read on, and its conversation opened again. */
const attached = signal<Attached[]>([]);

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

const ended = (one: Document) => one.state === "DOCUMENT_STATE_INDEXED" || one.state === "DOCUMENT_STATE_ERROR";

async function send(id: string, file: File, collection: string): Promise<void> {
  try {
    const sent = await upload<UploadDocumentResponse>("/v1/documents", [file], { collection, request_id: id }, () => undefined);
    let last = sent.document!;
    await watchedToEnd<WatchDocumentResponse>(`/v1/documents/${encodeURIComponent(last.id)}:watch`, (event) => ended(last = event.document ?? last));
    const failed = last.state !== "DOCUMENT_STATE_INDEXED";
    change(id, { state: failed ? "failed" : "ready", problem: last.failure ? advised(last.failure.message, last.failure.hint) : "" });
  } catch (error) {
    change(id, { state: "failed", problem: faultOf(error).detail });
  }
  announced.value = t(attached.value.find((one) => one.id === id)?.state === "ready" ? "attach.ready" : "attach.failed", { filename: file.name });
}

/** Attach files, and return the collection that they go into once it is there. */
async function attach(files: File[], conversation: string): Promise<string> {
  const collection = await made(conversation);
  for (const file of files) {
    const id = freshId();
    attached.value = [...attached.value, { id, conversation, filename: file.name, state: "reading", problem: "" }];
    void send(id, file, collection);
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
