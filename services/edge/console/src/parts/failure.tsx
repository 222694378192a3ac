// What went wrong, said where it went wrong.
import { Problem } from "../api/client";
import { Icon } from "./icons";
import { told } from "../state";
import { t } from "../strings";

export interface Fault {
  detail: string;
  reason: string;
}

export function faultOf(error: unknown): Fault {
  if (error instanceof Problem) return { detail: error.status ? error.message : t("error.unreachable"), reason: error.reason };
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
      <span>{told.value}</span>
      <button type="button" class="plain" aria-label={t("close")} title={t("close")} onClick={() => { told.value = ""; }}><Icon name="close" /></button>
    </div>
  );
}

export function Failure({ fault, again }: { fault: Fault; again?: () => void }) {
  return (
    <div class="failure" role="alert">
      <strong>{t("error.title")}</strong>
      <p>{fault.detail}</p>
      {again && <button type="button" onClick={again}>{t("error.again")}</button>}
    </div>
  );
}
