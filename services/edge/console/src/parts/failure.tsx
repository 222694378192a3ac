// What went wrong, said where it went wrong.
import { Problem, type Violation } from "../api/client";
import { Icon } from "./icons";
import { told } from "../state";
import { type Key, number, t } from "../strings";

export interface Fault {
  detail: string;
  reason: string;
}

/** Fields of the contract by the words that their inputs have here. */
const FIELDS: Record<string, Key> = {
  name: "collections.name", description: "collections.description", tags: "documents.tags", title: "conversations.title", question: "ask.question",
  text: "ask.question", comment: "answer.comment", label: "keys.label", user_id: "keys.user", role: "keys.role", ttl: "keys.days",
  limit: "collections.limit", max_documents: "collections.most", min_score: "collections.threshold", temperature: "collections.temperature",
  system_prompt: "collections.prompt", model: "collections.model", provider: "collections.provider", grants: "collections.share",
};

function refused({ field, description }: Violation): string {
  const last = field.split(".").at(-1)!.replace(/\[.{0,20}\]$/, "");
  const words = FIELDS[last] ? t(FIELDS[last]) : last.replaceAll("_", " ");
  return `${words}: ${description}`;
}

/** Return what failed as a sentence, and after it what to do, as the command line says it. */
export function advised(message: string, hint: string): string {
  const said = message.trim();
  return [said && !/[.!?:…]$/.test(said) ? `${said}.` : said, hint].filter(Boolean).join(" ");
}

/** Return what a call failed with where the server did not say: a proxy answered for it. */
function unsaid(status: number): string {
  if (status === 413) return t("error.large");
  return status >= 502 && status <= 504 ? t("error.unreachable") : `HTTP ${status}`;
}

export function faultOf(error: unknown): Fault {
  if (error instanceof Problem) {
    if (!error.status) return { detail: t("error.unreachable"), reason: error.reason };
    const said = error.violations.length ? error.violations.map(refused).join("\n") : error.message || unsaid(error.status);
    const hint = error.retryAfter ? t("error.later", { seconds: number(Math.max(1, error.retryAfter)) }) : error.hint;
    return { detail: advised(said, hint), reason: error.reason };
  }
  return { detail: error instanceof Error ? error.message : String(error), reason: "" };
}

/** Do what a button stands for; where it fails, say so above everything. Return whether it worked. */
export async function attempt(doing: () => Promise<unknown>): Promise<boolean> {
  try {
    told.value = "";
    await doing();
    return true;
  } catch (error) {
    told.value = faultOf(error).detail;
    return false;
  }
}

/** Put text on the clipboard, which browsers keep from pages that come neither by HTTPS nor from this machine. */
export function copy(text: string): Promise<void> {
  if (!navigator.clipboard) return Promise.reject(new Error(t("error.clipboard")));
  return navigator.clipboard.writeText(text);
}

export function Told() {
  if (!told.value) return null;
  return (
    <div class="told" role="alert">
      <span dir="auto">{told.value}</span>
      <button type="button" class="plain" aria-label={t("close")} title={t("close")} onClick={() => { told.value = ""; }}><Icon name="close" /></button>
    </div>
  );
}

export function Failure({ fault, again }: { fault: Fault; again?: () => void }) {
  return (
    <div class="failure" role="alert">
      <strong>{t("error.title")}</strong>
      <p dir="auto">{fault.detail}</p>
      {again && <button type="button" onClick={again}>{t("error.again")}</button>}
    </div>
  );
}
