// Collections: made, set, shared, deleted.
import { useEffect, useState } from "preact/hooks";
import { call, freshId, get } from "../api/client";
import type { Access, Collection, GetCollectionResponse, Grant } from "../api/types";
import { Failure, type Fault, faultOf } from "../parts/failure";
import { type Doing, useLoaded } from "../parts/load";
import { collectionAt, collections, go, link, loadCollections, me, titleOf } from "../state";
import { counted, t } from "../strings";
import { Moving } from "./moving";
import { Quotas } from "./quotas";
import { SettingsForm } from "./settings";

/** How often an open collection is read anew: what is said of it before it is deleted must be so. */
const EVERY_MS = 5000;

export function Collections({ opened }: { opened: string }) {
  const [fault, setFault] = useState<Fault | null>(null);
  const one = collectionAt(opened);
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
      // Where another change came first, the next attempt is made from that one.
      await loadCollections().catch(() => undefined);
      return false;
    }
  };
  if (one) return <div class="page"><Open key={one.id} collection={one} doing={doing} fault={fault} /></div>;
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
              <a class="item-name" dir="auto" href={link("collections", one.id)}>{one.name}</a>
              <span class="quiet facts">
                <span>{counted("documents", one.document_count)}</span><span>{counted("chunks", one.chunk_count)}</span>
                <span>{t(one.visibility === "VISIBILITY_PRIVATE" ? "collections.isprivate" : "collections.isshared")}</span>
                {one.owner_id !== me.value?.user_id && <span>{t("collections.owner", { user: one.owner_id })}</span>}
              </span>
              {one.description && <span class="quiet" dir="auto">{one.description}</span>}
            </div>
            <div class="item-actions"><a class="button" href={link("documents", one.id)} aria-label={`${t("collections.open")}: ${titleOf(one)}`}>{t("collections.open")}</a></div>
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

function Open({ collection, doing, fault }: { collection: Collection; doing: Doing; fault: Fault | null }) {
  const { settings } = collection;
  const path = `/v1/collections/${encodeURIComponent(collection.id)}`;
  const [typed, setTyped] = useState("");
  // What counts where the collection says nothing is told only of one that is read by itself.
  const { value: read, again } = useLoaded((stop) => get<GetCollectionResponse>(path, stop), [path, collection.etag], EVERY_MS);
  const now = read?.collection ?? collection;
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
      {collection.may_manage && <SettingsForm collection={collection} usual={read?.collection?.effective_settings} doing={doing} />}
      {collection.may_write && <Outdated key={collection.etag} count={now.outdated_documents ?? 0} collection={collection} doing={doing} />}
      {collection.may_manage && settings?.embedding?.provider !== "none" && <Moving collection={collection} />}
      {collection.may_manage && collection.visibility === "VISIBILITY_PRIVATE" && <Sharing collection={collection} doing={doing} />}
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

function Sharing({ collection, doing }: { collection: Collection; doing: Doing }) {
  const { grants, etag } = collection;
  const [saving, setSaving] = useState(false);
  const [who, setWho] = useState("");
  const [kind, setKind] = useState<"user_id" | "group">("user_id");
  const [access, setAccess] = useState<Access>("ACCESS_READ");
  const share = async (list: Grant[]) => {
    setSaving(true);
    const path = `/v1/collections/${encodeURIComponent(collection.id)}?update_mask=grants`;
    const done = await doing(() => call("PATCH", path, { grants: list, etag }));
    setSaving(false);
    return done;
  };
  return (
    <form onSubmit={async (event) => {
      event.preventDefault();
      if (await share([...grants, { [kind]: who, access } as unknown as Grant])) setWho("");
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
