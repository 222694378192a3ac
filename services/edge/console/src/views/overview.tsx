// How the deployment is: its services, what is kept, what readers thought.
import { get } from "../api/client";
import type { DocumentState, GetHealthResponse, GetUsageResponse, IndexingWork, ListDocumentsResponse, ListFeedbackResponse } from "../api/types";
import { Failure } from "../parts/failure";
import { useLoaded } from "../parts/load";
import { me } from "../state";
import { bytes, counted, lasting, named, number, t } from "../strings";
import { Activity } from "./activity";

const STATES: DocumentState[] = ["DOCUMENT_STATE_INDEXED", "DOCUMENT_STATE_PROCESSING", "DOCUMENT_STATE_UPLOADED", "DOCUMENT_STATE_ERROR"];

const WAITING: DocumentState[] = ["DOCUMENT_STATE_UPLOADED", "DOCUMENT_STATE_PROCESSING"];

async function read(stop: AbortSignal) {
  const states = STATES.map(async (state) => (await get<ListDocumentsResponse>(`/v1/documents?page_size=1&states=${state}`, stop)).total_size);
  const judged = ["RATING_UP", "RATING_DOWN"].map(async (rating) => (await get<ListFeedbackResponse>(`/v1/feedback?page_size=1&rating=${rating}`, stop)).total_size);
  const waiting = get<ListDocumentsResponse>(`/v1/documents?page_size=1&order_by=update_time&${WAITING.map((state) => `states=${state}`).join("&")}`, stop);
  const [health, usage, documents, feedback, queue] = await Promise.all([
    get<GetHealthResponse>("/v1/health", stop), get<GetUsageResponse>("/v1/usage", stop), Promise.all(states), Promise.all(judged), waiting,
  ]);
  return { health, usage, documents, feedback, queue };
}

/** How often the figures are read anew, and tried again while the server cannot be reached. */
const EVERY_MS = 5000;

export function Overview() {
  const { value, fault, again } = useLoaded(read, [], EVERY_MS);
  const counts = value?.usage.tenant ?? value?.usage.own;
  const most = Math.max(1, ...(value?.documents ?? []));
  return (
    <div class="page">
      <h1>{t("nav.overview")}</h1>
      {fault && <Failure fault={fault} again={again} />}
      {!value && !fault && <p class="quiet">{t("loading")}</p>}
      {value && (
        <>
          <section>
            <h2>{t("overview.services")}</h2>
            <ul class="services">
              {value.health.components.map((one) => (
                <li><span class={`state ${one.healthy ? "good" : "bad"}`}><bdi>{one.name}</bdi></span> <span class="quiet">{one.healthy ? t("overview.up") : t("overview.down")}</span>
                  {one.error && <span class="problem" dir="auto">{one.error}</span>}</li>
              ))}
            </ul>
            <p class="quiet">{t("overview.version", { version: value.health.version })}</p>
          </section>
          <section>
            <h2>{t("overview.documents")}</h2>
            <dl class="bars">
              {STATES.map((state, index) => (
                <div><dt>{named("state", state)}</dt><dd><meter min={0} max={most} value={value.documents[index]!} aria-label={named("state", state)} /> {number(value.documents[index]!)}</dd></div>
              ))}
            </dl>
            <Queue queue={value.queue} />
            {value.health.indexing_work && <Work work={value.health.indexing_work} />}
          </section>
          {me.value?.role === "ROLE_ADMIN" && <Activity />}
          {counts && (
            <section>
              <h2>{t("overview.usage")}</h2>
              <dl class="figures">
                <div><dt>{t("overview.bytes")}</dt><dd>{bytes(Number(counts.bytes))}</dd></div>
                {counts.collections !== undefined && <div><dt>{t("overview.collections")}</dt><dd>{number(counts.collections)}</dd></div>}
                <div><dt>{t("overview.tokens")}</dt><dd>{number(Number(counts.tokens_today))}</dd></div>
                <div><dt>{t("overview.cost")}</dt><dd>{number(counts.cost_usd_today, 2)}</dd></div>
              </dl>
            </section>
          )}
          <section>
            <h2>{t("overview.feedback")}</h2>
            <dl class="figures">
              <div><dt>{t("overview.helpful")}</dt><dd>{number(value.feedback[0]!)}</dd></div>
              <div><dt>{t("overview.unhelpful")}</dt><dd>{number(value.feedback[1]!)}</dd></div>
            </dl>
          </section>
        </>
      )}
    </div>
  );
}

/** How many documents wait for their end, and how long nothing has happened to the one that waits longest. */
function Queue({ queue }: { queue: ListDocumentsResponse }) {
  const first = queue.documents[0];
  if (!first) return <p class="quiet">{t("queue.none")}</p>;
  const seconds = Math.max(0, (Date.now() - Date.parse(first.update_time ?? first.create_time ?? "")) / 1000);
  return <p class="quiet">{t("queue.waits", { documents: counted("documents", queue.total_size), time: lasting(seconds) })}</p>;
}

/** How fast the deployment indexes, and how long that still takes; what is not known is left out. */
function Work({ work }: { work: IndexingWork }) {
  const vectors = Number(work.chunks_without_vector ?? 0);
  const figures: [string, string | undefined][] = [
    [t("work.documents_rate"), work.documents_per_second === undefined ? undefined : number(work.documents_per_second, 1)],
    [t("work.left"), work.documents_remaining && lasting(Number.parseFloat(work.documents_remaining))],
    [t("work.vectors"), vectors ? number(vectors) : undefined],
    [t("work.vectors_rate"), work.vectors_per_second === undefined ? undefined : number(work.vectors_per_second, 1)],
    [t("work.left"), work.vectors_remaining && lasting(Number.parseFloat(work.vectors_remaining))],
  ];
  return (
    <dl class="figures">
      {figures.map(([name, value]) => value && <div><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}
