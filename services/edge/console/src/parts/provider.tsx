// A provider chosen and set by its own JSON Schema, and asked whether it answers.
import { useState } from "preact/hooks";
import { call, get } from "../api/client";
import type { CheckProviderResponse, ListProvidersResponse, Provider, ProviderHealth, ProviderKind } from "../api/types";
import { me } from "../state";
import { isolate, number, t } from "../strings";
import { Failure, type Fault, faultOf } from "./failure";
import { useLoaded } from "./load";

/** What a collection says of a provider; an empty id is the deployment's. */
export interface Choice {
  provider: string;
  model: string;
  settings: Record<string, unknown>;
}

interface Property {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  anyOf?: Property[];
}

interface Props {
  kind: ProviderKind;
  label: string;
  modelLabel: string;
  value: Choice;
  change: (value: Choice) => void;
  /** The deployment's own, which counts while none is chosen. */
  inherited: string;
}

/** Return what a mask's fields are set to: nothing of what is empty, which clears it. */
export function given({ provider, model, settings }: Choice): Partial<Choice> {
  return { ...(provider && { provider }), ...(model && { model }), ...(Object.keys(settings).length > 0 && { settings }) };
}

export function ProviderFields({ kind, label, modelLabel, value, change, inherited }: Props) {
  const { value: listed, fault } = useLoaded((stop) => get<ListProvidersResponse>(`/v1/providers?kind=${kind}`, stop), [kind]);
  const all = listed?.providers ?? [];
  const one = all.find((found) => found.id === (value.provider || inherited));
  const properties = Object.entries((one?.settings_schema?.properties ?? {}) as Record<string, Property>);
  const set = (name: string, to: unknown) => {
    const { [name]: _, ...rest } = value.settings;
    change({ ...value, settings: to === undefined ? rest : { ...rest, [name]: to } });
  };
  return (
    <>
      {fault && <Failure fault={fault} />}
      <label>{label}
        <select value={value.provider} onChange={(event) => change({ provider: event.currentTarget.value, model: "", settings: {} })}>
          <option value="">{inherited ? t("provider.inherited", { name: inherited }) : t("provider.deployment")}</option>
          {value.provider && !all.some((found) => found.id === value.provider) && <option value={value.provider}>{value.provider}</option>}
          {all.map((found) => <option key={found.id} value={found.id}>{isolate(found.display_name)}</option>)}
        </select>
      </label>
      <label>{modelLabel}
        <input maxLength={300} placeholder={one?.default_model || t("collections.inherits")} value={value.model} onInput={(event) => change({ ...value, model: event.currentTarget.value })} /></label>
      {value.provider && properties.map(([name, property]) => (
        <Field key={`${value.provider} ${name}`} name={name} property={property} value={value.settings[name]} set={(to) => set(name, to)} />
      ))}
      {/* Only administrators may have a provider called. */}
      {me.value?.role === "ROLE_ADMIN" && <Check kind={kind} one={one} choice={value} />}
    </>
  );
}

function Field({ name, property, value, set }: { name: string; property: Property; value: unknown; set: (to: unknown) => void }) {
  const plain = property.anyOf?.find((one) => one.type !== "null") ?? property;
  const title = property.title ?? name;
  const usual = property.default === undefined || property.default === null ? "" : String(property.default);
  const said = property.description && <small dir="auto">{property.description}</small>;
  if (plain.enum) {
    return (
      <label><bdi>{title}</bdi>
        <select value={value === undefined ? "" : String(value)} onChange={(event) => set(plain.enum!.find((one) => String(one) === event.currentTarget.value))}>
          <option value="">{t("provider.usual", { value: usual })}</option>
          {plain.enum.map((one) => <option key={String(one)} value={String(one)}>{String(one)}</option>)}
        </select>{said}
      </label>
    );
  }
  if (plain.type === "boolean") {
    return <label class="check"><input type="checkbox" checked={Boolean(value ?? property.default)} onChange={(event) => set(event.currentTarget.checked)} /><bdi>{title}</bdi> {said}</label>;
  }
  if (plain.type === "integer" || plain.type === "number") {
    return (
      <label><bdi>{title}</bdi>
        <input
          type="number" step={plain.type === "integer" ? 1 : "any"} min={plain.minimum} max={plain.maximum} placeholder={usual}
          value={value === undefined ? "" : String(value)} onInput={({ currentTarget: { value: typed } }) => set(typed === "" ? undefined : Number(typed))}
        />{said}
      </label>
    );
  }
  if (plain.type !== "string") return <p class="quiet">{t("provider.elsewhere", { name: title })}</p>;
  return (
    <label><bdi>{title}</bdi>
      <input maxLength={plain.maxLength ?? 1000} placeholder={usual} value={value === undefined ? "" : String(value)} onInput={({ currentTarget: { value: typed } }) => set(typed || undefined)} />{said}
    </label>
  );
}

function Check({ kind, one, choice }: { kind: ProviderKind; one: Provider | undefined; choice: Choice }) {
  const [health, setHealth] = useState<ProviderHealth | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const [busy, setBusy] = useState(false);
  if (!one) return null;
  const test = async () => {
    setBusy(true);
    setHealth(null);
    setFault(null);
    try {
      const settings = Object.keys(choice.settings).length > 0 && { settings: choice.settings };
      setHealth((await call<CheckProviderResponse>("POST", "/v1/providers:check", { kind, id: one.id, ...settings })).health ?? null);
    } catch (error) {
      setFault(faultOf(error));
    }
    setBusy(false);
  };
  const known = health?.id === one.id;
  return (
    <div class="check-provider">
      <button type="button" disabled={busy} aria-label={`${t("provider.test")}: ${one.display_name}`} onClick={test}>{busy ? t("provider.testing") : t("provider.test")}</button>
      <span role="status">
        {known && health.healthy && <span class="state good">{t("provider.answers", { name: one.display_name, ms: number(Number.parseFloat(health.latency ?? "0") * 1000, 1) })}</span>}
        {known && !health.healthy && <span class="state bad" dir="auto">{health.error}</span>}
        {fault && <span class="state bad" dir="auto">{fault.detail}</span>}
      </span>
    </div>
  );
}
