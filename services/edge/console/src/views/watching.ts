// The documents of a collection as they are now: told by the server, again from where a stream ended.
import { useEffect, useState } from "preact/hooks";
import { events } from "../api/client";
import type { Document, Progress, WatchDocumentsResponse } from "../api/types";
import { type Fault, faultOf } from "../parts/failure";

const AGAIN_MS = 3000;
/** How often the list is drawn while it comes in: of thousands, drawing each time would take longer than reading. */
const FIRST_LOOKS_MS = 300;

export interface Row {
  document: Document;
  progress?: Progress;
}

export function useDocuments(collection: string): { rows: Map<string, Row>; ready: boolean; fault: Fault | null } {
  const [state, setState] = useState({ rows: new Map<string, Row>(), ready: false, fault: null as Fault | null });
  useEffect(() => {
    const stop = new AbortController();
    const rows = new Map<string, Row>();
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
      while (collection && !stop.signal.aborted) {
        try {
          const path = `/v1/collections/${encodeURIComponent(collection)}/documents:watch?resume_token=${encodeURIComponent(token)}`;
          for await (const event of events<WatchDocumentsResponse>("GET", path, undefined, stop.signal)) {
            if (event.changed?.document) rows.set(event.changed.document.id, { document: event.changed.document, ...(event.changed.progress && { progress: event.changed.progress }) });
            if (event.deleted) rows.delete(event.deleted.document_id);
            if (event.snapshot_done) ready = true;
            token = event.resume_token || token;
            tell();
          }
        } catch (error) {
          if (stop.signal.aborted) return;
          token = "";
          tell(faultOf(error));
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    })();
    return () => {
      stop.abort();
      cancelAnimationFrame(due);
    };
  }, [collection]);
  return state;
}
