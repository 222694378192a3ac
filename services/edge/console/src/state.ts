// What several views share: who is signed in, where one is, the document beside the answer.
import { computed, signal } from "@preact/signals";
import { get } from "./api/client";
import type { Citation, Collection, ListCollectionsResponse, Source, WhoAmIResponse } from "./api/types";
import { t } from "./strings";

export const me = signal<WhoAmIResponse | null>(null);

/** Return who somebody is, in one text. */
export const personOf = (found: WhoAmIResponse) => `${found.tenant_id} ${found.user_id}`;

export const collections = signal<Collection[]>([]);

/** Names that several collections have: a user's private ones differ by them, those of several users need not. */
const repeated = computed(() => {
  const seen = new Set<string>();
  return new Set(collections.value.map((one) => one.name).filter((name) => seen.has(name) || !seen.add(name)));
});

/** Return a number that is lowest for the collection that the server takes a name for. */
const nearness = (one: Collection) => (one.visibility !== "VISIBILITY_PRIVATE" ? 1 : one.owner_id === me.value?.user_id ? 0 : 2);

/** Return the collection with an id, else the one that the server takes this name for. */
export const collectionAt = (idOrName: string) => collections.value.find((one) => one.id === idOrName) ?? collections.value.find((one) => one.name === idOrName);

/** Return what a collection is called in requests: its name, or its id where others have that too. */
export const uniqueName = ({ id, name }: Collection) => (repeated.value.has(name) ? id : name);

/** Return what a collection is called in a list: its name, and whose it is where others have that too. */
export const titleOf = ({ name, visibility, owner_id: owner }: Collection) => (
  repeated.value.has(name) ? `${name} · ${visibility === "VISIBILITY_PRIVATE" ? owner : t("collections.isshared")}` : name
);

/** Return what the collection with an id or name is called in a list; one that is not there, as it is given. */
export function titleAt(idOrName: string): string {
  const one = collectionAt(idOrName);
  return one ? titleOf(one) : idOrName;
}

/** The path after `#/`, in parts. */
export const route = signal<string[]>(parts());

function parts(): string[] {
  return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decoded);
}

/** An address that was typed may hold a bare "%": it is taken as it stands. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
addEventListener("hashchange", () => {
  route.value = parts();
});

/** Take the address as it is, after it was changed by other means than following a link. */
export function arrive(): void {
  route.value = parts();
}

export const link = (...names: string[]) => `#/${names.map(encodeURIComponent).join("/")}`;

export function go(...names: string[]): void {
  location.hash = link(...names);
}

/** Change the address of what is shown already. */
export function settle(...names: string[]): void {
  history.replaceState(null, "", link(...names));
  arrive();
}

/** A place in a document, shown beside the answer. */
export interface Place {
  documentId: string;
  filename: string;
  mimeType: string;
  source?: Source;
  citation?: Citation;
  answerId?: string;
  /** Show what it was cut into for the search, each passage by itself. */
  passages?: boolean;
}

/** Return the revision that a footnote or a source was made of; none for a document opened by itself. */
export const revisionOf = (at: Place) => at.citation?.revision || at.source?.revision || undefined;

export const shown = signal<Place | null>(null);

/** What was in focus before the document was opened, to go back to. */
let opener: Element | null = null;

export function show(place: Place): void {
  opener = document.activeElement;
  shown.value = place;
}

export function hide(): void {
  shown.value = null;
  if (opener instanceof HTMLElement) opener.focus();
}

export async function loadCollections(): Promise<void> {
  const found: Collection[] = [];
  let token = "";
  do {
    const page = await get<ListCollectionsResponse>(`/v1/collections?page_size=1000&page_token=${encodeURIComponent(token)}`);
    found.push(...page.collections);
    token = page.next_page_token;
  } while (token);
  collections.value = found.sort((a, b) => a.name.localeCompare(b.name) || nearness(a) - nearness(b));
}

/** Whether addresses in answers are links; the operator's choice, none until it is known. */
export const outsideLinks = signal(false);

/** What went wrong with something that has no place of its own to say it; shown until it is closed. */
export const told = signal("");

/** What screen readers are told; the text changes, the region stays. */
export const announced = signal("");
