// The settings of a collection. Only what is typed is held here and saved: other fields show what the server has.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import type { Collection, CollectionSettings } from "../api/types";
import type { Doing } from "../parts/load";
import { type Choice, ProviderFields, given } from "../parts/provider";
import { announced } from "../state";
import { t } from "../strings";

interface Form {
  description: string;
  hidden: boolean;
  local: boolean;
  pictures: boolean;
  limit: string;
  threshold: string;
  temperature: string;
  most: string;
  prompt: string;
  writer: Choice;
  ranker: Choice;
}

const PROVIDER = ["provider", "model", "settings"];
/** Fields of a collection that an input stands for. */
const MASKS: Record<keyof Form, string[]> = {
  description: ["description"],
  hidden: ["visibility"],
  local: ["settings.local_only"],
  pictures: ["settings.ocr_pictures"],
  limit: ["settings.retrieval.limit"],
  threshold: ["settings.retrieval.min_score"],
  temperature: ["settings.generation.temperature"],
  most: ["settings.max_documents"],
  prompt: ["settings.prompt.system_prompt"],
  writer: PROVIDER.map((field) => `settings.generation.${field}`),
  ranker: PROVIDER.map((field) => `settings.rerank.${field}`),
};

const chosen = (from?: Partial<Choice>): Choice => ({ provider: from?.provider ?? "", model: from?.model ?? "", settings: from?.settings ?? {} });

/** Return what the inputs show of a collection; `usual` counts where it says nothing. */
function shownOf({ description, visibility, settings }: Collection, usual?: CollectionSettings): Form {
  return {
    description, hidden: visibility === "VISIBILITY_PRIVATE", local: settings?.local_only ?? false,
    pictures: settings?.ocr_pictures ?? usual?.ocr_pictures ?? false,
    limit: String(settings?.retrieval?.limit ?? ""), threshold: String(settings?.retrieval?.min_score ?? ""),
    temperature: String(settings?.generation?.temperature ?? ""), most: String(settings?.max_documents ?? ""),
    prompt: settings?.prompt?.system_prompt ?? "", writer: chosen(settings?.generation), ranker: chosen(settings?.rerank),
  };
}

/** Return the request for what was typed; fields of the mask that it lacks are cleared. */
function request(form: Form, typed: Partial<Form>): { mask: string; body: object } {
  const { limit, threshold, temperature, prompt, most } = form;
  return {
    mask: (Object.keys(typed) as (keyof Form)[]).flatMap((one) => MASKS[one]).join(","),
    body: {
      description: form.description, visibility: form.hidden ? "VISIBILITY_PRIVATE" : "VISIBILITY_SHARED",
      settings: {
        ...(form.local && { local_only: true }),
        ocr_pictures: form.pictures,
        retrieval: { ...(limit && { limit: Number(limit) }), ...(threshold && { min_score: Number(threshold) }) },
        ...(prompt && { prompt: { system_prompt: prompt } }),
        ...(most && { max_documents: Number(most) }),
        generation: { ...given(form.writer), ...(temperature && { temperature: Number(temperature) }) },
        rerank: given(form.ranker),
      },
    },
  };
}

interface Props {
  collection: Collection;
  /** What counts where the collection says nothing, once it is read. */
  usual: CollectionSettings | undefined;
  doing: Doing;
}

export function SettingsForm({ collection, usual, doing }: Props) {
  const [typed, setTyped] = useState<Partial<Form>>({});
  // A save that is under way would lose what is typed meanwhile: the form takes no input until it has ended.
  const [saving, setSaving] = useState(false);
  const form: Form = { ...shownOf(collection, usual), ...typed };
  const set = (to: Partial<Form>) => setTyped((now) => ({ ...now, ...to }));
  const save = async () => {
    const { mask, body } = request(form, typed);
    const path = `/v1/collections/${encodeURIComponent(collection.id)}?update_mask=${mask}`;
    setSaving(true);
    const done = !mask || await doing(() => call("PATCH", path, { ...body, etag: collection.etag }));
    setSaving(false);
    if (!done) return;
    setTyped({});
    announced.value = t("collections.saved");
  };
  return (
    <form onSubmit={(event) => { event.preventDefault(); void save(); }}><fieldset class="card fields" disabled={saving}>
      <h2>{t("collections.settings")}</h2>
      <label>{t("collections.description")}<input dir="auto" maxLength={1000} value={form.description} onInput={(event) => set({ description: event.currentTarget.value })} /></label>
      <label class="check"><input type="checkbox" checked={form.hidden} onChange={(event) => set({ hidden: event.currentTarget.checked })} />{t("collections.private")}</label>
      <label class="check"><input type="checkbox" checked={form.local} onChange={(event) => set({ local: event.currentTarget.checked })} />{t("collections.local")}</label>
      <label class="check"><input type="checkbox" checked={form.pictures} onChange={(event) => set({ pictures: event.currentTarget.checked })} />{t("collections.pictures")}</label>
      <label>{t("collections.limit")}<input type="number" min={1} max={100} placeholder={String(usual?.retrieval?.limit ?? "")} value={form.limit} onInput={(event) => set({ limit: event.currentTarget.value })} /></label>
      <label>{t("collections.threshold")}<input type="number" min={0} max={1} step="any" placeholder={String(usual?.retrieval?.min_score ?? "")} value={form.threshold} onInput={(event) => set({ threshold: event.currentTarget.value })} /></label>
      <label>{t("collections.temperature")}<input type="number" min={0} max={2} step="any" placeholder={String(usual?.generation?.temperature ?? "")} value={form.temperature} onInput={(event) => set({ temperature: event.currentTarget.value })} /></label>
      <label>{t("collections.most")}<input type="number" min={1} max={10000000} placeholder={t("quota.none")} value={form.most} onInput={(event) => set({ most: event.currentTarget.value })} /></label>
      <label class="wide">{t("collections.prompt")}<textarea dir="auto" rows={3} maxLength={8000} placeholder={usual?.prompt?.system_prompt ?? ""} value={form.prompt} onInput={(event) => set({ prompt: event.currentTarget.value })} /></label>
      <ProviderFields kind="PROVIDER_KIND_MODEL" label={t("collections.provider")} modelLabel={t("collections.model")} inherited={usual?.generation?.provider ?? ""} value={form.writer} change={(writer) => set({ writer })} />
      <ProviderFields kind="PROVIDER_KIND_RERANKER" label={t("collections.ranker")} modelLabel={t("collections.ranker.model")} inherited={usual?.rerank?.provider ?? ""} value={form.ranker} change={(ranker) => set({ ranker })} />
      <button class="primary">{t("save")}</button>
    </fieldset></form>
  );
}
