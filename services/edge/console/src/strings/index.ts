// Words of the interface, by language; the browser's languages are the first choice. English comes with the page, each
// other language as a file of its own.
import { signal } from "@preact/signals";
import { en } from "./en";

export type Key = keyof typeof en;
/** What every language has. */
export type Texts = Record<Key, string>;
export type Counted = "documents" | "chunks" | "claims" | "messages" | "collections";
/** Forms of counted nouns that a language has beside `one` and `other`, as Intl.PluralRules names them. */
export type Forms<Name extends "zero" | "two" | "few" | "many"> = Record<`${Counted}.${Name}`, string>;

/** The languages, each by its own name. */
export const LANGUAGES = {
  ar: "العربية", de: "Deutsch", en: "English", es: "Español", fr: "Français", it: "Italiano",
  ja: "日本語", nl: "Nederlands", pl: "Polski", pt: "Português", ru: "Русский", zh: "中文",
} as const;
export type Language = keyof typeof LANGUAGES;

const files: Record<Exclude<Language, "en">, () => Promise<Texts>> = {
  ar: () => import("./ar").then((file) => file.ar),
  de: () => import("./de").then((file) => file.de),
  es: () => import("./es").then((file) => file.es),
  fr: () => import("./fr").then((file) => file.fr),
  it: () => import("./it").then((file) => file.it),
  ja: () => import("./ja").then((file) => file.ja),
  nl: () => import("./nl").then((file) => file.nl),
  pl: () => import("./pl").then((file) => file.pl),
  pt: () => import("./pt").then((file) => file.pt),
  ru: () => import("./ru").then((file) => file.ru),
  zh: () => import("./zh").then((file) => file.zh),
};
const known: Partial<Record<Language, Texts>> = { en };
const STORE = "footnote.language";

function first(): Language {
  const asked = [localStorage.getItem(STORE) ?? "", ...navigator.languages].map((one) => one.toLowerCase().split("-")[0]!);
  return (asked.find((one) => Object.hasOwn(LANGUAGES, one)) ?? "en") as Language;
}

/** The language that is spoken: the one asked for, once its words are there. */
export const language = signal<Language>("en");
export const direction = (): "ltr" | "rtl" => (language.value === "ar" ? "rtl" : "ltr");
language.subscribe((value) => {
  document.documentElement.lang = value;
  document.documentElement.dir = direction();
});

let wanted: Language = "en";

async function take(value: Language): Promise<void> {
  wanted = value;
  if (value !== "en") known[value] ??= await files[value]();
  if (wanted === value) language.value = value;
}

/** Settles once the words of the first choice are there; English stays where they cannot be had. */
export const ready = take(first()).catch(() => undefined);

/** Change the language; fails, and leaves it as it is, where the words cannot be had. */
export async function speak(value: Language): Promise<void> {
  await take(value).catch(() => Promise.reject(new Error(t("error.unreachable"))));
  if (language.value === value) localStorage.setItem(STORE, value);
}

const texts = (): Record<string, string> => known[language.value] ?? en;

/** How numbers and dates are written: with the digits of footnotes, cells and pages, which are the same in every language. */
const LOCALES: Partial<Record<Language, string>> = { ar: "ar-u-nu-latn", pt: "pt-PT" };
const locale = (): string => LOCALES[language.value] ?? language.value;

const LETTER = /\p{L}/u;
const LEFTWARD = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Return a name that stands within words of ours so that each keeps its own direction, where they may differ. */
export const isolate = (text: string) => ((direction() === "rtl" ? LETTER : LEFTWARD).test(text) ? `\u2068${text}\u2069` : text);

/** Return a text without what `isolate` puts around names. */
export const plain = (text: string) => text.replace(/[\u2066-\u2069]/g, "");

/** Return a text of the interface with its `{names}` filled in. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  return texts()[key]!.replace(/\{(\w{1,20})\}/g, (_, name: string) => isolate(String(values[name] ?? "")));
}

/** Return the text for an enum's value, or the value itself where there are no words for it yet. */
export function named(prefix: string, value: string, values: Record<string, string> = {}): string {
  const key = `${prefix}.${value}` as Key;
  return key in en ? t(key, values) : value.toLowerCase().replaceAll("_", " ");
}

/** Return a count with its noun: "1 document", "4 documents". */
export function counted(noun: Counted, n: number): string {
  const key = `${noun}.${new Intl.PluralRules(locale()).select(n)}`;
  return t((key in texts() ? key : `${noun}.other`) as Key, { n: number(n) });
}

export const number = (n: number, digits = 0) =>
  new Intl.NumberFormat(locale(), { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(n);

export const date = (iso?: string) =>
  iso ? new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso)) : "";

/** Return the hour of a moment, with its day: charts over several days have many of the same. */
export const hour = (iso: string) =>
  new Intl.DateTimeFormat(locale(), { weekday: "short", hour: "2-digit", minute: "2-digit" }).format(new Date(iso));

export const day = (iso: string, timeZone?: string) =>
  new Intl.DateTimeFormat(locale(), { day: "numeric", month: "short", ...(timeZone ? { timeZone } : {}) }).format(new Date(iso));

/** Return a stretch of time in its largest unit. */
export function lasting(seconds: number): string {
  const [unit, size] = seconds < 90 ? ["second", 1] : seconds < 5400 ? ["minute", 60] : seconds < 129_600 ? ["hour", 3600] : ["day", 86_400];
  return new Intl.NumberFormat(locale(), { style: "unit", unit: unit as string, unitDisplay: "long", maximumFractionDigits: 0 }).format(seconds / (size as number));
}

export function bytes(size: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  const power = size < 1000 ? 0 : size < 1e6 ? 1 : size < 1e9 ? 2 : 3;
  const value = size / 1000 ** power;
  return new Intl.NumberFormat(locale(), {
    style: "unit", unit: units[power]!, unitDisplay: power ? "short" : "long", maximumFractionDigits: value < 10 && power > 0 ? 1 : 0,
  }).format(value);
}
