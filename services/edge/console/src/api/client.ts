// Calls of the HTTP API with the user's key: JSON, server-sent events, files.
import type { GoogleRpcStatus } from "./types";
import { credential } from "./oidc";
import { key, turnedAway } from "./session";
import { signedInElsewhere } from "./sharing";

/** A field that was refused, by its name in the contract, and why. */
export interface Violation {
  field: string;
  description: string;
}

/** Problem details as the server sends them. */
interface Body {
  reason?: string;
  detail?: string;
  errors?: Violation[];
  metadata?: Record<string, string>;
}

/** What went wrong with a call, in the server's words. */
export class Problem extends Error {
  readonly reason: string;
  readonly violations: Violation[];
  /** What to do about it; empty where the server has no advice. */
  readonly hint: string;
  /** `retryAfter`: seconds after which the server takes the call again, 0 where it does not say so. */
  constructor(readonly status: number, body: Body, readonly retryAfter = 0) {
    super(body.detail ?? "");
    this.reason = body.reason ?? "";
    this.violations = body.errors ?? [];
    this.hint = body.metadata?.hint ?? "";
  }
}

/** HTTP statuses of the canonical codes of errors that may pass by themselves; all others are the caller's. */
const PASSING: Record<number, number> = { 4: 504, 8: 429, 13: 500, 14: 503 };

/** Return an error within a response, of one file of several say, as the Problem that a call of its own fails with. */
export function problemOf({ code, message, details }: GoogleRpcStatus): Problem {
  const body: Body = { detail: message };
  let retryAfter = 0;
  for (const one of details as Record<string, any>[]) {
    const kind = String(one["@type"]).split(".").at(-1);
    if (kind === "ErrorInfo") Object.assign(body, { reason: one.reason, metadata: one.metadata });
    if (kind === "BadRequest") body.errors = one.field_violations;
    if (kind === "RetryInfo") retryAfter = Number.parseFloat(one.retry_delay) || 0;
  }
  return new Problem(PASSING[code] ?? 400, body, retryAfter);
}

async function headers(more: Record<string, string> = {}): Promise<Record<string, string>> {
  const shown = await credential();
  return shown ? { authorization: `Bearer ${shown}`, ...more } : more;
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const body: Body = await response.json().catch(() => ({}));
  if (response.status === 401 && (key.value || !(await signedInElsewhere()))) turnedAway();
  throw new Problem(response.status, body, Number(response.headers.get("retry-after")) || 0);
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, { reason: "UNREACHABLE" });
  }
  return checked(response);
}

/** Call an RPC by its path; `body` makes it JSON. */
export async function call<T>(method: string, path: string, body?: unknown, stop?: AbortSignal): Promise<T> {
  const json: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  const response = await send(path, {
    method,
    headers: await headers(json),
    body: body === undefined ? null : JSON.stringify(body),
    signal: stop ?? null,
  });
  return response.json();
}

export const get = <T>(path: string, stop?: AbortSignal) => call<T>("GET", path, undefined, stop);

/** Return what stands at a path as bytes, to be kept as a file. */
export async function fetched(path: string): Promise<Blob> {
  return (await send(path, { headers: await headers() })).blob();
}

/** Return the bytes of a document as it was uploaded: of a revision, or of the one that searches see. */
export async function download(documentId: string, revision?: number, stop?: AbortSignal): Promise<Blob> {
  const path = `/v1/documents/${encodeURIComponent(documentId)}:download${revision ? `?revision=${revision}` : ""}`;
  return (await send(path, { headers: await headers(), signal: stop ?? null })).blob();
}

/** Upload files in one form; `progress` hears 0..1 as bytes leave. */
export async function upload<T>(
  path: string, files: readonly File[], fields: Record<string, string>, progress: (part: number) => void, stop?: AbortSignal,
): Promise<T> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const file of files) form.append("file", file, file.name);
  // fetch tells nothing of how far an upload is.
  const request = new XMLHttpRequest();
  const shown = await headers();
  stop?.throwIfAborted();
  const abort = () => request.abort();
  stop?.addEventListener("abort", abort);
  request.onloadend = () => stop?.removeEventListener("abort", abort);
  request.open("POST", path);
  for (const [name, value] of Object.entries(shown)) request.setRequestHeader(name, value);
  return new Promise((resolve, reject) => {
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onabort = () => reject(stop?.reason);
    request.onerror = () => reject(new Problem(0, { reason: "UNREACHABLE" }));
    request.onload = () => {
      const body = parsed(request.responseText);
      if (request.status < 300) return resolve(body as T);
      if (request.status === 401) turnedAway();
      reject(new Problem(request.status, body, Number(request.getResponseHeader("retry-after")) || 0));
    };
    request.send(form);
  });
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Yield the data of each server-sent event; throws the Problem that an `error` event holds. */
export async function* events<T>(method: string, path: string, body: unknown, stop: AbortSignal): AsyncGenerator<T> {
  const json: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  const response = await send(path, {
    method,
    headers: await headers({ accept: "text/event-stream", ...json }),
    body: body === undefined ? null : JSON.stringify(body),
    signal: stop,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let name = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("event: ")) name = line.slice(7);
        else if (line.startsWith("data: ")) {
          const data = JSON.parse(line.slice(6));
          if (name === "error") throw new Problem(data.status ?? 0, data);
          yield data as T;
        } else if (line === "") name = "";
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Return an id that makes a request safe to repeat; crypto.randomUUID is only there on secure origins. */
export function freshId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
