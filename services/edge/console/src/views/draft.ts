// What stands in the question box, kept while its writer signs in again or reloads; of this tab, and of this writer alone.
import { DRAFT } from "../api/session";
import { me, personOf } from "../state";

/** Who is signed in, or was until just now: a session that ends is known before what was typed in it is kept. */
let writer = "";
me.subscribe((found) => {
  if (found) writer = personOf(found);
});

export function keepDraft(text: string): void {
  if (text) sessionStorage.setItem(DRAFT, JSON.stringify({ writer, text }));
  else sessionStorage.removeItem(DRAFT);
}

/** Return what the one who is signed in has typed; what another one has typed is forgotten. */
export function keptDraft(): string {
  try {
    const kept = JSON.parse(sessionStorage.getItem(DRAFT) ?? "null");
    if (kept?.writer === writer) return String(kept.text);
  } catch {
    // not ours: as if there were none
  }
  sessionStorage.removeItem(DRAFT);
  return "";
}

/** Put a question that could not be asked back into the box, before what was typed since. */
export function putBack(question: string): void {
  keepDraft([question, keptDraft()].filter(Boolean).join("\n"));
}
