// What a question is asked of, and by which model: collections, some of their documents, a provider and its model.
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Document, ListDocumentsResponse, ListProvidersResponse } from "../api/types";
import { Failure } from "../parts/failure";
import { Icon } from "../parts/icons";
import { useLoaded } from "../parts/load";
import { collectionAt, collections, titleOf, uniqueName } from "../state";
import { counted, isolate, t } from "../strings";

const OFFERED = 8;

/** Empty lists mean everything, an empty provider what each collection has chosen. */
export interface Asked {
  collections: string[];
  documents: Pick<Document, "id" | "filename">[];
  provider: string;
  model: string;
}

export const EVERYWHERE: Asked = { collections: [], documents: [], provider: "", model: "" };

/** Return the fields of a request that say so. */
export function requestOf(asked: Asked): object {
  const { provider, model } = asked;
  return {
    collections: asked.collections.map(named),
    ...(asked.documents.length > 0 && { document_ids: asked.documents.map((one) => one.id) }),
    ...(provider && { generation: { provider, ...(model && { model }) } }),
  };
}

/** Return what a collection is named by now: by its id where a second one with its name has come since it was chosen. */
function named(idOrName: string): string {
  const one = collectionAt(idOrName);
  return one ? uniqueName(one) : idOrName;
}

interface Props {
  asked: Asked;
  change: (asked: Asked) => void;
}

export function Scope({ asked, change }: Props) {
  const [open, setOpen] = useState(false);
  const several = asked.collections.length > 1;
  const [only = ""] = asked.collections.map(named);
  return (
    <>
      <label class="inline-field">
        <span class="wide-only">{t("ask.in")}</span>
        <select aria-label={t("ask.in")} value={several ? "several" : only} onChange={(event) => {
          const name = event.currentTarget.value;
          change({ ...asked, collections: name ? [name] : [], documents: [] });
        }}>
          <option value="">{t("ask.everywhere")}</option>
          {several && <option value="several">{counted("collections", asked.collections.length)}</option>}
          {collections.value.map((one) => <option value={uniqueName(one)}>{isolate(titleOf(one))}</option>)}
        </select>
      </label>
      <button type="button" class="plain" aria-expanded={open} aria-label={t("scope.title")} title={t("scope.title")} onClick={() => setOpen(!open)}>
        <Icon name="scope" />{asked.documents.length > 0 && <span>{counted("documents", asked.documents.length)}</span>}
      </button>
      {open && <Panel asked={asked} change={change} />}
    </>
  );
}

function Panel({ asked, change }: Props) {
  const { value: listed, fault } = useLoaded((stop) => get<ListProvidersResponse>("/v1/providers?kind=PROVIDER_KIND_MODEL", stop), []);
  const one = listed?.providers.find((found) => found.id === asked.provider);
  const within = asked.collections.map(named);
  return (
    <div class="scope" role="group" aria-label={t("scope.title")}>
      {fault && <Failure fault={fault} />}
      <fieldset>
        <legend>{t("nav.collections")}</legend>
        {collections.value.map((one) => (
          <label class="check"><input type="checkbox" checked={within.includes(uniqueName(one))} onChange={(event) => change({
            ...asked, documents: [],
            collections: event.currentTarget.checked ? [...asked.collections, uniqueName(one)] : asked.collections.filter((other) => named(other) !== uniqueName(one)),
          })} /><bdi>{titleOf(one)}</bdi></label>
        ))}
      </fieldset>
      <Documents asked={asked} change={change} />
      <fieldset>
        <legend>{t("scope.model")}</legend>
        <select aria-label={t("scope.model")} value={asked.provider} onChange={(event) => change({ ...asked, provider: event.currentTarget.value, model: "" })}>
          <option value="">{t("scope.usual")}</option>
          {listed?.providers.map((found) => <option value={found.id}>{found.display_name}</option>)}
        </select>
        {one && <input aria-label={t("collections.model")} maxLength={300} placeholder={one.default_model} value={asked.model} onInput={(event) => change({ ...asked, model: event.currentTarget.value })} />}
      </fieldset>
    </div>
  );
}

function Documents({ asked, change }: Props) {
  const [words, setWords] = useState("");
  const [found, setFound] = useState<Document[]>([]);
  useEffect(() => {
    setFound([]);
    if (!words.trim()) return;
    const stop = new AbortController();
    const [only] = asked.collections.length === 1 ? asked.collections : [""];
    const query = new URLSearchParams({ filename_contains: words.trim(), page_size: String(OFFERED), states: "DOCUMENT_STATE_INDEXED", collection: only! });
    get<ListDocumentsResponse>(`/v1/documents?${query}`, stop.signal).then(({ documents }) => setFound(documents)).catch(() => {});
    return () => stop.abort();
  }, [words, asked.collections]);
  const rest = found.filter((one) => !asked.documents.some((other) => other.id === one.id));
  return (
    <fieldset>
      <legend>{t("nav.documents")}</legend>
      {asked.documents.map((one) => (
        <button type="button" class="tag" aria-label={`${t("collections.remove")}: ${one.filename}`} onClick={() => change({ ...asked, documents: asked.documents.filter((other) => other.id !== one.id) })}><bdi>{one.filename}</bdi> ×</button>
      ))}
      <input type="search" aria-label={t("scope.documents")} placeholder={t("scope.documents")} maxLength={200} value={words} onInput={(event) => setWords(event.currentTarget.value)} />
      {rest.map(({ id, filename }) => (
        <button type="button" class="link" dir="auto" onClick={() => {
          change({ ...asked, documents: [...asked.documents, { id, filename }] });
          setWords("");
        }}>{filename}</button>
      ))}
    </fieldset>
  );
}
