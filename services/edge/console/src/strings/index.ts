// Words of the interface, by language; the browser's language is the first choice.
import { signal } from "@preact/signals";
import { en } from "./en";
import { fr } from "./fr";

export type Key = keyof typeof en;
export type Language = "en" | "fr";

const STORE = "footnote.language";
const tables: Record<Language, Record<Key, string>> = { en, fr };

function first(): Language {
  const chosen = localStorage.getItem(STORE);
  if (chosen === "en" || chosen === "fr") return chosen;
  return navigator.language.toLowerCase().startsWith("fr") ? "fr" : "en";
}

export const language = signal<Language>(first());
language.subscribe((value) => (document.documentElement.lang = value));

export function speak(value: Language): void {
  localStorage.setItem(STORE, value);
  language.value = value;
}

/** Return a text of the interface with its `{names}` filled in. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  return tables[language.value][key].replace(/\{(\w{1,20})\}/g, (_, name: string) => String(values[name] ?? ""));
}

/** Return the text for an enum's value, or the value itself where there are no words for it yet. */
export function named(prefix: string, value: string): string {
  const key = `${prefix}.${value}` as Key;
  return key in tables[language.value] ? t(key) : value.toLowerCase().replaceAll("_", " ");
}

/** Return a count with its noun: "1 document", "4 documents". */
export function counted(key: "documents" | "chunks" | "claims" | "messages" | "collections", n: number): string {
  const form = new Intl.PluralRules(language.value).select(n) === "one" ? "one" : "other";
  return t(`${key}.${form}` as Key, { n: number(n) });
}

export const number = (n: number, digits = 0) =>
  new Intl.NumberFormat(language.value, { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(n);

export const date = (iso?: string) =>
  iso ? new Intl.DateTimeFormat(language.value, { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso)) : "";

/** Return the hour of a moment, with its day: charts over several days have many of the same. */
export const hour = (iso: string) =>
  new Intl.DateTimeFormat(language.value, { weekday: "short", hour: "2-digit", minute: "2-digit" }).format(new Date(iso));

export const day = (iso: string, timeZone?: string) =>
  new Intl.DateTimeFormat(language.value, { day: "numeric", month: "short", ...(timeZone ? { timeZone } : {}) }).format(new Date(iso));

/** Return a stretch of time in its largest unit. */
export function lasting(seconds: number): string {
  const [unit, size] = seconds < 90 ? ["second", 1] : seconds < 5400 ? ["minute", 60] : seconds < 129_600 ? ["hour", 3600] : ["day", 86_400];
  return new Intl.NumberFormat(language.value, { style: "unit", unit: unit as string, unitDisplay: "long", maximumFractionDigits: 0 }).format(seconds / (size as number));
}

export function bytes(size: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  const power = size < 1000 ? 0 : size < 1e6 ? 1 : size < 1e9 ? 2 : 3;
  const value = size / 1000 ** power;
  return new Intl.NumberFormat(language.value, {
    style: "unit", unit: units[power]!, unitDisplay: power ? "short" : "long", maximumFractionDigits: value < 10 && power > 0 ? 1 : 0,
  }).format(value);
}
