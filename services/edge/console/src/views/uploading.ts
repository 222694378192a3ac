// Files on their way: a few at once, each with how far it is and what went wrong.
import { signal } from "@preact/signals";
import { Problem, freshId, upload } from "../api/client";
import type { UploadDocumentResponse } from "../api/types";
import { faultOf } from "../parts/failure";
import { announced } from "../state";
import { t } from "../strings";

const AT_ONCE = 3;

export interface Sending {
  id: string;
  file: File;
  collection: string;
  part: number;
  state: "waiting" | "sending" | "duplicate" | "failed";
  problem: string;
  /** Another try may end otherwise: the server was away, or had no room just then. */
  passing: boolean;
}

export const sending = signal<Sending[]>([]);

const change = (id: string, to: Partial<Sending>) => {
  sending.value = sending.value.map((one) => (one.id === id ? { ...one, ...to } : one));
};

export function forget(id: string): void {
  sending.value = sending.value.filter((one) => one.id !== id);
}

export function add(files: File[], collection: string, done: () => void): void {
  sending.value = [
    ...sending.value,
    ...files.map((file): Sending => ({ id: freshId(), file, collection, part: 0, state: "waiting", problem: "", passing: false })),
  ];
  for (let index = 0; index < AT_ONCE; index++) void work(done);
}

export function retry(id: string, done: () => void): void {
  change(id, { state: "waiting", problem: "", part: 0 });
  void work(done);
}

async function work(done: () => void): Promise<void> {
  for (;;) {
    const next = sending.value.find((one) => one.state === "waiting");
    if (!next || sending.value.filter((one) => one.state === "sending").length >= AT_ONCE) return;
    change(next.id, { state: "sending" });
    try {
      const fields = { collection: next.collection, request_id: next.id };
      const accepted = await upload<UploadDocumentResponse>("/v1/documents", next.file, fields, (part) => change(next.id, { part }));
      if (accepted.duplicate) change(next.id, { state: "duplicate" });
      else forget(next.id);
      announced.value = t("documents.sent", { filename: next.file.name });
      done();
    } catch (error) {
      const { detail } = faultOf(error);
      change(next.id, { state: "failed", problem: detail, passing: passes(error) });
      announced.value = `${next.file.name}: ${detail}`;
    }
  }
}

/** Tell whether a failure may pass by itself: what the server says of the file itself does not. */
function passes(error: unknown): boolean {
  return !(error instanceof Problem) || error.status === 0 || error.status === 401 || error.status === 408 || error.status === 429 || error.status >= 500;
}

/** Return the files of a drop, those in folders too. */
export async function dropped(items: DataTransferItemList): Promise<File[]> {
  const entries = Array.from(items, (item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const found: File[] = [];
  for (let entry = entries.shift(); entry; entry = entries.shift()) {
    if (entry.isFile) found.push(await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
    else {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      for (;;) {
        const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
        if (!some.length) break;
        entries.push(...some);
      }
    }
  }
  return found;
}
