// Collections: made, set, shared, deleted.
import { useEffect, useState } from "preact/hooks";
import { call, freshId, get } from "../api/client";
import type { Access, Collection, GetCollectionResponse, Grant } from "../api/types";
import { Failure, type Fault, faultOf } from "../parts/failure";
import { useLoaded } from "../parts/load";
import { type Choice, ProviderFields, given } from "../parts/provider";
import { announced, collections, go, link, loadCollections, me } from "../state";
import { counted, t } from "../strings";
import { Moving } from "./moving";
import { Quotas } from "./quotas";

type Doing = (act: () => Promise<unknown>) => Promise<boolean>;

/** How often an open collection is read anew: what is said of it before it is deleted must be so. */
const EVERY_MS = 5000;

export function Collections({ opened }: { opened: string }) {
  const [fault, setFault] = useState<Fault | null>(null);
  const one = collections.value.find((one) => one.name === opened);
  // Counts of documents change without a change of the collection. One that is open is read by itself: a new list would
  // draw it anew, and what is typed or under way in it would be lost.
  useEffect(() => {
    if (!one) loadCollections().catch((error) => setFault(faultOf(error)));
  }, [opened]);
  const doing: Doing = async (act) => {
    try {
      await act();
      await loadCollections();
      setFault(null);
      return true;
    } catch (error) {
      setFault(faultOf(error));
      return false;
    }
  };
  if (one) return <div class="page"><Open key={one.etag} collection={one} doing={doing} fault={fault} /></div>;
  return (
    <div class="page">
      <h1>{t("nav.collections")}</h1>
      {fault && <Failure fault={fault} />}
      {me.value?.role !== "ROLE_READER" && <Make doing={doing} />}
      {collections.value.length === 0 && <p class="quiet">{t("collections.none")}</p>}
      <ul class="list">
        {collections.value.map((one) => (
          <li key={one.id}>
            <div class="item-main">
              <a class="item-name" dir="auto" href={link("collections", one.name)}>{one.name}</a>
              <span class="quiet facts">
                <span>{counted("documents", one.document_count)}</span><span>{counted("chunks", one.chunk_count)}</span>
                <span>{t(one.visibility === "VISIBILITY_PRIVATE" ? "collections.isprivate" : "collections.isshared")}</span>
              </span>
              {one.description && <span class="quiet" dir="auto">{one.description}</span>}
            </div>
            <div class="item-actions"><a class="button" href={link("documents", one.name)} aria-label={`${t("collections.open")}: ${one.name}`}>{t("collections.open")}</a></div>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Outdated({ count, collection, doing }: { count: number; collection: Collection; doing: Doing }) {
  const [begun, setBegun] = useState(false);
  if (!count || begun) return null;
  const reindex = async () => {
    const body = { collection: collection.id, outdated_only: true, request_id: freshId() };
    if (await doing(() => call("POST", "/v1/documents:reindex", body))) setBegun(true);
  };
  return (
    <p class="notice">
      {t("collections.outdated", { documents: counted("documents", count) })}{" "}
      <button type="button" onClick={() => void reindex()}>{t("collections.outdated.reindex")}</button>
    </p>
  );
}

function Make({ doing }: { doing: Doing }) {
  const admin = me.value?.role === "ROLE_ADMIN";
  const [name, setName] = useState("");
  const [hidden, setHidden] = useState(!admin);
  return (
    <form class="card fields" onSubmit={async (event) => {
      event.preventDefault();
      const body = { name, visibility: hidden ? "VISIBILITY_PRIVATE" : "VISIBILITY_SHARED" };
      if (await doing(() => call("POST", `/v1/collections?request_id=${freshId()}`, body))) setName("");
    }}>
      <h2>{t("collections.new")}</h2>
      <label>{t("collections.name")}<input required maxLength={128} value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
      <label class="check"><input type="checkbox" checked={hidden} disabled={!admin} onChange={(event) => setHidden(event.currentTarget.checked)} />{t("collections.private")}</label>
      <button class="primary">{t("collections.create")}</button>
    </form>
  );
}

const chosen = (given?: Partial<Choice>): Choice => ({ provider: given?.provider ?? "", model: given?.model ?? "", settings: given?.settings ?? {} });

function Open({ collection, doing, fault }: { collection: Collection; doing: Doing; fault: Fault | null }) {
  const { settings, grants } = collection;
  const path = `/v1/collections/${encodeURIComponent(collection.id)}`;
  const [description, setDescription] = useState(collection.description);
  const [hidden, setHidden] = useState(collection.visibility === "VISIBILITY_PRIVATE");
  const [local, setLocal] = useState(settings?.local_only ?? false);
  const [pictures, setPictures] = useState(settings?.ocr_pictures);
  const [limit, setLimit] = useState(String(settings?.retrieval?.limit ?? ""));
  const [threshold, setThreshold] = useState(String(settings?.retrieval?.min_score ?? ""));
  const [temperature, setTemperature] = useState(String(settings?.generation?.temperature ?? ""));
  const [prompt, setPrompt] = useState(settings?.prompt?.system_prompt ?? "");
  const [most, setMost] = useState(String(settings?.max_documents ?? ""));
  const [writer, setWriter] = useState(chosen(settings?.generation));
  const [ranker, setRanker] = useState(chosen(settings?.rerank));
  const [typed, setTyped] = useState("");
  // A save draws the collection again, which would lose what is typed meanwhile: the form takes no input until then.
  const [saving, setSaving] = useState(false);
  const saved = async (mask: string, body: object) => {
    setSaving(true);
    const done = await doing(() => call("PATCH", `${path}?update_mask=${mask}`, body));
    setSaving(false);
    return done;
  };
  // What counts where the collection says nothing is told only of one that is read by itself.
  const { value: read, again } = useLoaded((stop) => get<GetCollectionResponse>(path, stop), [path], EVERY_MS);
  const usual = read?.collection?.effective_settings;
  const now = read?.collection ?? collection;
  const save = async () => {
    const parts = ["generation", "rerank"].flatMap((one) => ["provider", "model", "settings"].map((field) => `settings.${one}.${field}`));
    const mask = ["description", "visibility", "settings.local_only", "settings.ocr_pictures", "settings.retrieval.limit", "settings.retrieval.min_score", "settings.prompt.system_prompt", "settings.generation.temperature", "settings.max_documents", ...parts].join(",");
    const body = {
      description, visibility: hidden ? "VISIBILITY_PRIVATE" : "VISIBILITY_SHARED", etag: collection.etag,
      settings: {
        ...(local && { local_only: true }),
        ...(pictures !== undefined && { ocr_pictures: pictures }),
        retrieval: { ...(limit && { limit: Number(limit) }), ...(threshold && { min_score: Number(threshold) }) },
        ...(prompt && { prompt: { system_prompt: prompt } }),
        ...(most && { max_documents: Number(most) }),
        generation: { ...given(writer), ...(temperature && { temperature: Number(temperature) }) },
        rerank: given(ranker),
      },
    };
    if (await saved(mask, body)) announced.value = t("collections.saved");
  };
  const share = (list: Grant[]) => saved("grants", { grants: list, etag: collection.etag });
  return (
    <>
      <p><a href={link("collections")}>{t("nav.collections")}</a></p>
      <h1><bdi>{collection.name}</bdi></h1>
      <p class="quiet facts">
        <span>{t(collection.visibility === "VISIBILITY_PRIVATE" ? "collections.isprivate" : "collections.isshared")}</span>
        <span>{t("collections.owner", { user: collection.owner_id })}</span>
      </p>
      <Quotas collection={collection} />
      {fault && <Failure fault={fault} />}
      {!collection.may_manage && collection.description && <p dir="auto">{collection.description}</p>}
      {collection.may_manage && <form onSubmit={(event) => { event.preventDefault(); void save(); }}><fieldset class="card fields" disabled={saving}>
        <h2>{t("collections.settings")}</h2>
        <label>{t("collections.description")}<input dir="auto" maxLength={1000} value={description} onInput={(event) => setDescription(event.currentTarget.value)} /></label>
        <label class="check"><input type="checkbox" checked={hidden} onChange={(event) => setHidden(event.currentTarget.checked)} />{t("collections.private")}</label>
        <label class="check"><input type="checkbox" checked={local} onChange={(event) => setLocal(event.currentTarget.checked)} />{t("collections.local")}</label>
        <label class="check"><input type="checkbox" checked={pictures ?? usual?.ocr_pictures ?? false} onChange={(event) => setPictures(event.currentTarget.checked)} />{t("collections.pictures")}</label>
        <label>{t("collections.limit")}<input type="number" min={1} max={100} placeholder={String(usual?.retrieval?.limit ?? "")} value={limit} onInput={(event) => setLimit(event.currentTarget.value)} /></label>
        <label>{t("collections.threshold")}<input type="number" min={0} max={1} step="any" placeholder={String(usual?.retrieval?.min_score ?? "")} value={threshold} onInput={(event) => setThreshold(event.currentTarget.value)} /></label>
        <label>{t("collections.temperature")}<input type="number" min={0} max={2} step="any" placeholder={String(usual?.generation?.temperature ?? "")} value={temperature} onInput={(event) => setTemperature(event.currentTarget.value)} /></label>
        <label>{t("collections.most")}<input type="number" min={1} max={10000000} placeholder={t("quota.none")} value={most} onInput={(event) => setMost(event.currentTarget.value)} /></label>
        <label class="wide">{t("collections.prompt")}<textarea dir="auto" rows={3} maxLength={8000} placeholder={usual?.prompt?.system_prompt ?? ""} value={prompt} onInput={(event) => setPrompt(event.currentTarget.value)} /></label>
        <ProviderFields kind="PROVIDER_KIND_MODEL" label={t("collections.provider")} modelLabel={t("collections.model")} inherited={usual?.generation?.provider ?? ""} value={writer} change={setWriter} />
        <ProviderFields kind="PROVIDER_KIND_RERANKER" label={t("collections.ranker")} modelLabel={t("collections.ranker.model")} inherited={usual?.rerank?.provider ?? ""} value={ranker} change={setRanker} />
        <button class="primary">{t("save")}</button>
      </fieldset></form>}
      {collection.may_write && <Outdated count={now.outdated_documents ?? 0} collection={collection} doing={doing} />}
      {collection.may_manage && settings?.embedding?.provider !== "none" && <Moving collection={collection} />}
      {collection.may_manage && collection.visibility === "VISIBILITY_PRIVATE" && <Sharing grants={grants} share={share} saving={saving} />}
      {collection.may_manage && <form class="card fields" onSubmit={async (event) => {
        event.preventDefault();
        if (typed === collection.name && await doing(() => call("DELETE", path))) go("collections");
      }}>
        <h2>{t("collections.delete")}</h2>
        <label>{t("collections.type", { name: collection.name, documents: counted("documents", now.document_count) })}
          <input autocomplete="off" value={typed} onFocus={again} onInput={(event) => setTyped(event.currentTarget.value)} /></label>
        <button class="danger" disabled={typed !== collection.name}>{t("collections.delete")}</button>
      </form>}
    </>
  );
}

function Sharing({ grants, share, saving }: { grants: Grant[]; share: (grants: Grant[]) => Promise<boolean>; saving: boolean }) {
  const [who, setWho] = useState("");
  const [kind, setKind] = useState<"user_id" | "group">("user_id");
  const [access, setAccess] = useState<Access>("ACCESS_READ");
  return (
    <form onSubmit={(event) => {
      event.preventDefault();
      void share([...grants, { [kind]: who, access } as unknown as Grant]);
    }}><fieldset class="card fields" disabled={saving}>
      <h2>{t("collections.share")}</h2>
      {grants.length > 0 && (
        <ul class="list">
          {grants.map((grant, index) => {
            const name = grant.user_id ?? grant.group ?? "";
            return (
              <li>
                <div class="item-main"><span>{t(grant.group ? "collections.group" : "collections.user")} <bdi>{name}</bdi> {t(grant.access === "ACCESS_WRITE" ? "collections.write" : "collections.read")}</span></div>
                <button type="button" class="plain" aria-label={`${t("collections.remove")}: ${name}`} onClick={() => share(grants.filter((_, one) => one !== index))}>{t("collections.remove")}</button>
              </li>
            );
          })}
        </ul>
      )}
      <label>{t("collections.kind")}<select value={kind} onChange={(event) => setKind(event.currentTarget.value as typeof kind)}><option value="user_id">{t("collections.user")}</option><option value="group">{t("collections.group")}</option></select></label>
      <label>{t("collections.who")}<input required maxLength={256} value={who} onInput={(event) => setWho(event.currentTarget.value)} /></label>
      <label>{t("collections.access")}<select value={access} onChange={(event) => setAccess(event.currentTarget.value as Access)}><option value="ACCESS_READ">{t("collections.read")}</option><option value="ACCESS_WRITE">{t("collections.write")}</option></select></label>
      <button>{t("collections.add")}</button>
    </fieldset></form>
  );
}
