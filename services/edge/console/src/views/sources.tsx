// Sources that collections are kept in step with, and how each stands.
import { useEffect } from "preact/hooks";
import { call, get } from "../api/client";
import type { ListSourcesResponse, SourceState, SyncedSource } from "../api/types";
import { Confirm } from "../parts/confirm";
import { Failure } from "../parts/failure";
import { type Doing, useLoaded } from "../parts/load";
import { collections, link, loadCollections } from "../state";
import { date, named, number, t } from "../strings";

const EVERY_MS = 5000;
const LOOKS: Partial<Record<SourceState, string>> = { SOURCE_STATE_IN_STEP: "good", SOURCE_STATE_PARTIAL: "bad", SOURCE_STATE_AWAY: "bad" };

async function read(stop: AbortSignal): Promise<SyncedSource[]> {
  const found: SyncedSource[] = [];
  let token = "";
  do {
    const page = await get<ListSourcesResponse>(`/v1/sources?page_size=1000&page_token=${encodeURIComponent(token)}`, stop);
    found.push(...page.sources);
    token = page.next_page_token;
  } while (token);
  return found;
}

export function Sources() {
  const { value, fault, doing, again } = useLoaded(read, [], EVERY_MS);
  // Who may change a source is known by its collection, which may be new.
  useEffect(() => void loadCollections().catch(() => {}), []);
  return (
    <div class="page">
      <h1>{t("nav.sources")}</h1>
      <p class="quiet">{t("sources.lead")} <code>footnote sources add</code></p>
      {fault && <Failure fault={fault} again={again} />}
      {!value && !fault && <p class="quiet">{t("loading")}</p>}
      {value?.length === 0 && <p class="quiet">{t("sources.none")}</p>}
      <ul class="list">{value?.map((one) => <One key={one.id} source={one} doing={doing} />)}</ul>
    </div>
  );
}

function One({ source, doing }: { source: SyncedSource; doing: Doing }) {
  const path = `/v1/sources/${encodeURIComponent(source.id)}`;
  // Those who may write may have it read anew; only those who made it, and who manage its collection, change it.
  const changes = collections.value.find((one) => one.id === source.collection_id)?.may_manage;
  const pause = () => doing(() => call("PATCH", `${path}?update_mask=paused`, { paused: !source.paused }));
  return (
    <li>
      <div class="item-main">
        <span class="item-name" dir="auto">{source.name}</span>
        <span class="quiet facts">
          <span class={`state ${LOOKS[source.state] ?? "busy"}`}>{source.operation_id ? t("sources.running") : named("source", source.state)}</span>
          <span dir="auto">{source.kind}</span>
          <a dir="auto" href={link("documents", source.collection_id)}>{source.collection}</a>
          <span>{t("sources.items", { done: number(source.items_in_step), all: number(source.items) })}</span>
          {source.items_failed > 0 && <span class="problem">{t("sources.failed", { n: number(source.items_failed) })}</span>}
          {source.items_skipped > 0 && <span>{t("sources.skipped", { n: number(source.items_skipped) })}</span>}
          {source.in_step_time && <span>{t("sources.asof", { date: date(source.in_step_time) })}</span>}
          {source.paused ? <span class="tag">{t("sources.paused")}</span> : source.next_sync_time && <span>{t("sources.next", { date: date(source.next_sync_time) })}</span>}
        </span>
        {source.error?.message && <span class="problem" dir="auto">{source.error.message}</span>}
        {source.notices.map((one) => <span class="quiet" dir="auto">{one}</span>)}
      </div>
      <div class="item-actions">
        <button type="button" disabled={Boolean(source.operation_id)} aria-label={`${t("sources.sync")}: ${source.name}`} onClick={() => doing(() => call("POST", `${path}:sync`, {}))}>{t("sources.sync")}</button>
        {changes && <button type="button" class="plain" aria-label={`${t(source.paused ? "sources.resume" : "sources.pause")}: ${source.name}`} onClick={pause}>{t(source.paused ? "sources.resume" : "sources.pause")}</button>}
        {changes && <Confirm label={t("delete")} about={source.name} sure={t("delete.sure")} act={() => doing(() => call("DELETE", path))} />}
      </div>
    </li>
  );
}
