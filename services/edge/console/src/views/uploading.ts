// Files on their way: small ones many in a call, each with how far it is and what went wrong.
import { signal } from "@preact/signals";
import { Problem, freshId, problemOf, upload } from "../api/client";
import { key } from "../api/session";
import type { UploadDocumentResponse, UploadDocumentsResponse } from "../api/types";
import { faultOf } from "../parts/failure";
import { announced, collectionAt, loadCollections, me, personOf } from "../state";
import { counted, t } from "../strings";

/** Calls at once. */
const AT_ONCE = 3;
/** Bytes; a larger file has a call of its own, as with the Python client and the command line. */
const SMALL = 256 * 1024;
/** Maximum number of files of one call, and of their bytes with their metadata. */
const MOST_FILES = 64;
const MOST_BYTES = 4 * 2 ** 20;
/** Bytes that the server may count as a file's metadata, beside its name. */
const METADATA_BYTES = 1024;

export interface Sending {
  id: string;
  file: File;
  collection: string;
  part: number;
  state: "waiting" | "sending" | "duplicate" | "failed";
  problem: string;
  /** Another try may end otherwise: the server was away, or had no room just then. */
  passing: boolean;
  /** It does not go in a group, which was too large on its way. */
  alone: boolean;
}

export const sending = signal<Sending[]>([]);
let calls = 0;
/** Ends the calls under way. */
let stop = new AbortController();
/** Whose files they are. */
let writer = "";

// After a session that ended by itself the same person goes on; nothing outlives a sign-out, or comes to somebody else.
me.subscribe((found) => {
  if (!found) return;
  if (personOf(found) !== writer) dropAll();
  writer = personOf(found);
  begin();
});
key.subscribe((now) => { if (!now) dropAll(); });

function dropAll(): void {
  stop.abort();
  stop = new AbortController();
  sending.value = [];
}

function begin(): void {
  for (let index = 0; index < AT_ONCE; index++) void work();
}

function change(changes: Map<string, Partial<Sending>>): void {
  sending.value = sending.value.map((one) => (changes.has(one.id) ? { ...one, ...changes.get(one.id) } : one));
}

export function forget(...ids: string[]): void {
  const gone = new Set(ids);
  sending.value = sending.value.filter((one) => !gone.has(one.id));
}

export function add(files: File[], collection: string): void {
  sending.value = [
    ...sending.value,
    ...files.map((file): Sending => ({ id: freshId(), file, collection, part: 0, state: "waiting", problem: "", passing: false, alone: false })),
  ];
  begin();
}

export function retry(id: string): void {
  change(new Map([[id, { state: "waiting", problem: "", part: 0 }]]));
  void work();
}

const costOf = ({ file }: Sending) => file.size + 3 * file.name.length + METADATA_BYTES;

/** Return the files of the next call: the first that waits and, if it is small, others of its collection. None while it is not known who calls. */
function next(): Sending[] {
  if (!me.value) return [];
  const waiting = sending.value.filter((one) => one.state === "waiting");
  const [first] = waiting;
  if (!first || first.alone || first.file.size > SMALL) return first ? [first] : [];
  const group: Sending[] = [];
  let size = 0;
  for (const one of waiting) {
    if (one.alone || one.file.size > SMALL || one.collection !== first.collection) continue;
    size += costOf(one);
    if (size > MOST_BYTES || group.length === MOST_FILES) break;
    group.push(one);
  }
  return group;
}

async function work(): Promise<void> {
  while (calls < AT_ONCE) {
    const files = next();
    if (!files.length) return;
    calls += 1;
    change(new Map(files.map((one) => [one.id, { state: "sending" }])));
    const { signal: stopped } = stop;
    try {
      const outcomes = await send(files, stopped);
      if (stopped.aborted) continue;
      end(files, outcomes);
      if (!collectionAt(files[0]!.collection)) void loadCollections().catch(() => undefined);
    } catch (error) {
      if (stopped.aborted) continue;
      // A proxy on the way may take less in one call than the server does.
      if (files.length > 1 && error instanceof Problem && error.status === 413) change(new Map(files.map((one) => [one.id, { state: "waiting", part: 0, alone: true }])));
      else end(files, files.map(() => error));
    } finally {
      calls -= 1;
    }
  }
}

/** Upload files by one call, and return of each the response or why it failed. */
async function send(files: Sending[], stopped: AbortSignal): Promise<unknown[]> {
  const [{ id, collection }] = files as [Sending];
  const contents = files.map((one) => one.file);
  const progress = (part: number) => change(parts(files, part));
  if (files.length === 1) return [await upload<UploadDocumentResponse>("/v1/documents", contents, { collection, request_id: id }, progress, stopped)];
  const response = await upload<UploadDocumentsResponse>("/v1/documents:upload", contents, { collection }, progress, stopped);
  return response.files.map(({ stored, error }) => stored ?? problemOf(error!));
}

/** Return how far each file is once a part of their bytes has left. */
function parts(files: Sending[], part: number): Map<string, Partial<Sending>> {
  let left = part * files.reduce((sum, one) => sum + one.file.size, 0);
  return new Map(files.map((one) => {
    const gone = Math.min(left, one.file.size);
    left -= gone;
    return [one.id, { part: one.file.size ? gone / one.file.size : part }];
  }));
}

/** Say what came of each file; those that were taken are in the list of documents from now on. */
function end(files: Sending[], outcomes: unknown[]): void {
  const changes = new Map<string, Partial<Sending>>();
  const taken: Sending[] = [];
  const failed: string[] = [];
  for (const [index, one] of files.entries()) {
    const outcome = outcomes[index];
    if (outcome instanceof Error) {
      const { detail } = faultOf(outcome);
      failed.push(`${one.file.name}: ${detail}`);
      changes.set(one.id, { state: "failed", problem: detail, passing: passes(outcome) });
    } else {
      taken.push(one);
      if ((outcome as UploadDocumentResponse).duplicate) changes.set(one.id, { state: "duplicate" });
    }
  }
  change(changes);
  forget(...taken.filter((one) => !changes.has(one.id)).map((one) => one.id));
  const sent = taken.length === 1 ? [t("documents.sent", { filename: taken[0]!.file.name })] : taken.length ? [t("documents.sent.many", { documents: counted("documents", taken.length) })] : [];
  announced.value = [...sent, ...failed].join("\n");
}

/** Tell whether a failure may pass by itself: what the server says of the file itself does not. */
export function passes(error: unknown): boolean {
  return !(error instanceof Problem) || error.status === 0 || error.status === 401 || error.status === 408 || error.status === 429 || error.status >= 500;
}

/** Return the files of a drop, and the names of what cannot be read. What is hidden in folders is left out, as by the command line. */
export async function dropped(items: DataTransferItemList): Promise<{ files: File[]; unread: string[] }> {
  const entries = Array.from(items, (item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const files: File[] = [];
  const unread: string[] = [];
  for (let entry = entries.shift(); entry; entry = entries.shift()) {
    try {
      if (entry.isFile) files.push(await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
      else {
        const reader = (entry as FileSystemDirectoryEntry).createReader();
        for (;;) {
          const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
          if (!some.length) break;
          entries.push(...some.filter((one) => !one.name.startsWith(".")));
        }
      }
    } catch {
      unread.push(entry.name);
    }
  }
  return { files, unread };
}
