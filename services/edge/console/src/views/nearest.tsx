// What was nearest to a question that no passage answers: offered, never taken for an answer.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import type { Chunk, SearchResponse } from "../api/types";
import { Failure, type Fault, faultOf } from "../parts/failure";
import { show } from "../state";
import { t } from "../strings";
import { badge } from "../text";

const MOST = 3;

export function Nearest({ question, collections }: { question: string; collections: string[] }) {
  const [found, setFound] = useState<Chunk[] | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const look = async () => {
    try {
      // 0 asks for the nearest ones, however far they are.
      const body = { query: question, collections, settings: { limit: MOST, min_score: 0 } };
      const { chunks } = await call<SearchResponse>("POST", "/v1/search", body);
      setFault(null);
      setFound(chunks.flatMap((one) => one.chunk ?? []));
    } catch (error) {
      setFault(faultOf(error));
    }
  };
  return (
    <details class="sources nearest" onToggle={(event) => event.currentTarget.open && !found && void look()}>
      <summary>{t("nearest.title")}</summary>
      {fault && <Failure fault={fault} again={look} />}
      {!found && !fault && <p class="quiet" role="status">{t("loading")}</p>}
      {found?.length === 0 && <p class="quiet">{t("nearest.none")}</p>}
      {found && found.length > 0 && (
        <>
          <p class="quiet">{t("nearest.lead")}</p>
          <ul class="passages">
            {found.map((one) => (
              <li>
                <button type="button" class="source" onClick={() => show(placeOf(one))}>
                  <span class="source-label" dir="auto">{badge(one.filename, one.locator)}</span>
                  <span class="source-text" dir="auto">{one.text}</span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </details>
  );
}

/** Return where a passage stands, as if it were a source. */
function placeOf(chunk: Chunk) {
  const source = {
    ...chunk, number: 0, chunk_id: chunk.id, score: 0, suspicion: 0, suspicion_reasons: [], label: badge(chunk.filename, chunk.locator),
  };
  return { documentId: chunk.document_id, filename: chunk.filename, mimeType: chunk.mime_type, source };
}
