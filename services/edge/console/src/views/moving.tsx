// A collection moved to another embedder: its setting changed, its documents indexed again, with how far that is.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { call, get } from "../api/client";
import type { Collection, ListOperationsResponse, Operation, ReindexDocumentsResponse, WatchOperationResponse } from "../api/types";
import { Failure, type Fault, faultOf } from "../parts/failure";
import { useRequestId } from "../parts/load";
import { type Choice, ProviderFields, given } from "../parts/provider";
import { announced, loadCollections } from "../state";
import { number, t } from "../strings";
import { watchedToEnd } from "./watching";

/** The last move of each collection, by its id: it goes on while other views are looked at. */
const moves = signal<Record<string, Operation>>({});
const watched = new Set<string>();

const ended = (one: Operation) => one.state !== "OPERATION_STATE_QUEUED" && one.state !== "OPERATION_STATE_RUNNING";

async function follow(operation: Operation): Promise<void> {
  moves.value = { ...moves.value, [operation.collection_id]: operation };
  if (ended(operation) || watched.has(operation.id)) return;
  watched.add(operation.id);
  try {
    await watchedToEnd<WatchOperationResponse>(`/v1/operations/${operation.id}:watch`, ({ operation: now = operation }) => {
      moves.value = { ...moves.value, [operation.collection_id]: now };
      return ended(now);
    });
    announced.value = t("moving.done");
  } finally {
    watched.delete(operation.id);
  }
}

export function Moving({ collection }: { collection: Collection }) {
  const now = collection.settings?.embedding;
  const [choice, setChoice] = useState<Choice>({ provider: now?.provider ?? "", model: now?.model ?? "", settings: now?.settings ?? {} });
  const [size, setSize] = useState(String(now?.dimensions || ""));
  const [fault, setFault] = useState<Fault | null>(null);
  const request = useRequestId();
  const operation = moves.value[collection.id];
  const busy = operation !== undefined && !ended(operation);
  useEffect(() => {
    const query = new URLSearchParams({ kinds: "OPERATION_KIND_REINDEX_DOCUMENTS", collection: collection.id, page_size: "1000" });
    get<ListOperationsResponse>(`/v1/operations?${query}`).then(({ operations }) => {
      // One that is shown here may have ended since it was watched.
      const last = operations.find((one) => !ended(one)) ?? operations.find((one) => one.id === moves.value[collection.id]?.id);
      return last && follow(last);
    }).catch((error) => setFault(faultOf(error)));
  }, [collection.id]);
  const move = async () => {
    setFault(null);
    try {
      const path = `/v1/collections/${encodeURIComponent(collection.id)}`;
      const embedding = { ...given(choice), ...(size && { dimensions: Number(size) }) };
      await call("PATCH", `${path}?update_mask=settings.embedding`, { settings: { embedding }, etag: collection.etag });
      // Sent again it is the same move, which is begun once.
      const body = { collection: collection.id };
      const { operation: begun } = await call<ReindexDocumentsResponse>("POST", "/v1/documents:reindex", { ...body, request_id: request.of({ ...body, embedding }) });
      request.done();
      const following = begun && follow(begun);
      await loadCollections();
      await following;
    } catch (error) {
      setFault(faultOf(error));
      // The first half may have changed the collection: the next attempt is made from that.
      await loadCollections().catch(() => undefined);
    }
  };
  return (
    <form class="card fields" onSubmit={(event) => { event.preventDefault(); void move(); }}>
      <h2>{t("moving.title")}</h2>
      <p class="quiet wide">{t("moving.now", { provider: now?.provider ?? "", model: now?.model ?? "", n: now?.dimensions ?? 0 })}</p>
      <ProviderFields kind="PROVIDER_KIND_EMBEDDING" label={t("moving.provider")} modelLabel={t("moving.model")} inherited="" value={choice} change={(next) => {
        // The size shown is that of the model shown: another model has its own, unless one is typed after it.
        if (next.provider !== choice.provider || next.model !== choice.model) {
          setSize(next.provider === now?.provider && next.model === now.model ? String(now.dimensions || "") : "");
        }
        setChoice(next);
      }} />
      <label>{t("moving.size")}<input type="number" min={1} max={32768} placeholder={t("moving.size.own")} value={size} onInput={(event) => setSize(event.currentTarget.value)} /></label>
      <button class="primary" disabled={busy}>{t("moving.go")}</button>
      {operation && <Progress operation={operation} />}
      {fault && <Failure fault={fault} />}
    </form>
  );
}

function Progress({ operation }: { operation: Operation }) {
  const done = operation.done + operation.failed + operation.skipped;
  const words = { done: number(operation.done), all: number(operation.total), failed: number(operation.failed) };
  return (
    <div class="wide" role="status">
      {!ended(operation) && <progress aria-label={t("moving.title")} max={Math.max(operation.total, 1)} value={done} />}
      <p>{t(ended(operation) ? "moving.ended" : "moving.running", words)}
        {operation.failed > 0 && <span class="problem"> {t("moving.failed", words)}</span>}
        {operation.error && <span class="problem" dir="auto"> {operation.error.message}</span>}</p>
    </div>
  );
}
