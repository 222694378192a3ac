// The documents of a collection as they are now: told by the server, again from where a stream ended.
import { useEffect, useState } from "preact/hooks";
import { Problem, events } from "../api/client";
import type { Document, Progress, WatchDocumentsResponse } from "../api/types";
import { type Fault, faultOf } from "../parts/failure";
import { passes } from "./uploading";

const AGAIN_MS = 3000;
/** What the server answers to a token that it cannot continue from: too old, or of another time of the collection. */
const REFUSED = new Set(["WATCH_EXPIRED", "INVALID_FIELD"]);
/** How often the list is drawn while it comes in: of thousands, drawing each time would take longer than reading. */
const FIRST_LOOKS_MS = 300;

/** Watch one thing until an event was its last, as `seen` tells; again after a stream that ended or broke before that. */
export async function watchedToEnd<Event>(path: string, seen: (event: Event) => boolean): Promise<void> {
  for (;;) {
    try {
      for await (const event of events<Event>("GET", path, undefined, new AbortController().signal)) if (seen(event)) return;
    } catch (error) {
      // After a sign-out the call would be refused for ever.
      if (!passes(error) || (error instanceof Problem && error.status === 401)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

export interface Row {
  document: Document;
  progress?: Progress;
}

/** Settles once the page is looked at, or `stop` aborts. */
function lookedAt(stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.visibilityState !== "visible" && !stop.aborted) return;
      document.removeEventListener("visibilitychange", look);
      stop.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    stop.addEventListener("abort", look);
    look();
  });
}

export function useDocuments(collection: string): { rows: Map<string, Row>; ready: boolean; fault: Fault | null } {
  const [state, setState] = useState({ rows: new Map<string, Row>(), ready: false, fault: null as Fault | null });
  useEffect(() => {
    const stop = new AbortController();
    // A hidden tab watches nothing: browsers hold six connections of HTTP/1.1 to a host, over all tabs.
    let open = new AbortController();
    const close = () => { if (document.visibilityState !== "visible") open.abort(); };
    document.addEventListener("visibilitychange", close);
    let rows = new Map<string, Row>();
    let ready = false;
    let due = 0;
    let last = -FIRST_LOOKS_MS;
    const tell = (fault: Fault | null = null) => {
      if (!ready && !fault && performance.now() - last < FIRST_LOOKS_MS) return;
      last = performance.now();
      cancelAnimationFrame(due);
      due = requestAnimationFrame(() => !stop.signal.aborted && setState({ rows: new Map(rows), ready, fault }));
    };
    setState({ rows, ready: false, fault: null });
    (async () => {
      let token = "";
      while (collection) {
        await lookedAt(stop.signal);
        if (stop.signal.aborted) return;
        open = new AbortController();
        // Without a token the snapshot has all that exists: it replaces what is shown once it is whole. Until the first one
        // is, it is shown as it comes in.
        const next = token ? rows : new Map<string, Row>();
        if (!ready) rows = next;
        try {
          const path = `/v1/collections/${encodeURIComponent(collection)}/documents:watch?resume_token=${encodeURIComponent(token)}`;
          for await (const event of events<WatchDocumentsResponse>("GET", path, undefined, open.signal)) {
            if (event.changed?.document) next.set(event.changed.document.id, { document: event.changed.document, ...(event.changed.progress && { progress: event.changed.progress }) });
            if (event.deleted) next.delete(event.deleted.document_id);
            if (event.snapshot_done) {
              ready = true;
              rows = next;
            }
            token = event.resume_token || token;
            if (rows === next) tell();
          }
        } catch (error) {
          if (open.signal.aborted) continue;
          if (token && error instanceof Problem && REFUSED.has(error.reason)) {
            token = "";
            continue;
          }
          tell(faultOf(error));
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    })();
    return () => {
      document.removeEventListener("visibilitychange", close);
      stop.abort();
      open.abort();
      cancelAnimationFrame(due);
    };
  }, [collection]);
  return state;
}
