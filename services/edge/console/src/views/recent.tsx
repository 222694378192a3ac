// Conversations beside the question: the latest, found by their words, pinned, renamed in place.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Problem, call, get } from "../api/client";
import type { Conversation, GetConversationResponse, ListConversationsResponse } from "../api/types";
import { attempt } from "../parts/failure";
import { Icon } from "../parts/icons";
import { useLoaded } from "../parts/load";
import { link, me } from "../state";
import { t } from "../strings";

const MOST = 30;
/** Titles are made after the first answer, and conversations in other tabs. */
const EVERY_MS = 10_000;

/** Changes with each question, so that its conversation comes to the top. */
export const asked = signal(0);
/** The conversation begun last in this tab, which its question names until it has a title. */
export const begun = signal({ id: "", question: "" });

const store = () => `footnote.pins ${me.value?.tenant_id} ${me.value?.user_id}`;

function pinned(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(store()) ?? "[]");
    return Array.isArray(kept) ? kept.map(String) : [];
  } catch {
    return [];
  }
}

/** Return a pinned conversation, or null where it is gone. */
async function one(id: string, stop: AbortSignal): Promise<Conversation | null> {
  try {
    return (await get<GetConversationResponse>(`/v1/conversations/${encodeURIComponent(id)}`, stop)).conversation ?? null;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null;
    throw error;
  }
}

async function read(query: string, pins: string[], stop: AbortSignal): Promise<Conversation[]> {
  const words = new URLSearchParams({ query, page_size: String(MOST) });
  const { conversations } = await get<ListConversationsResponse>(`/v1/conversations?${words}`, stop);
  if (query) return conversations;
  const listed = new Map(conversations.map((found) => [found.id, found]));
  const first = await Promise.all(pins.map((id) => listed.get(id) ?? one(id, stop)));
  return [...first.filter((found) => found !== null), ...conversations.filter((found) => !pins.includes(found.id))];
}

export function Recent({ opened }: { opened: string }) {
  const [query, setQuery] = useState("");
  const [pins, setPins] = useState(pinned);
  const { value, again } = useLoaded((stop) => read(query, pins, stop), [query, pins, opened, asked.value], EVERY_MS);
  const pin = (id: string) => {
    const before = pinned(); // another tab may have pinned others meanwhile
    const now = pins.includes(id) ? before.filter((other) => other !== id) : [id, ...before.filter((other) => other !== id)];
    localStorage.setItem(store(), JSON.stringify(now));
    setPins(now);
  };
  return (
    <section class="recent" aria-label={t("recent.label")}>
      <input type="search" maxLength={256} aria-label={t("conversations.search")} placeholder={t("recent.search")} value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
      {value?.length === 0 && <p class="quiet">{t("conversations.none")}</p>}
      <ul>
        {value?.map((found) => (
          <Entry key={found.id} conversation={found} current={found.id === opened} pinned={pins.includes(found.id)} pin={() => pin(found.id)} again={again} />
        ))}
      </ul>
    </section>
  );
}

interface EntryProps {
  conversation: Conversation;
  current: boolean;
  pinned: boolean;
  pin: () => void;
  again: () => void;
}

function Entry({ conversation, current, pinned, pin, again }: EntryProps) {
  const [title, setTitle] = useState<string | null>(null);
  const name = conversation.title || (begun.value.id === conversation.id && begun.value.question) || t("conversations.untitled");
  if (title !== null) {
    return (
      <li>
        <form onSubmit={async (event) => {
          event.preventDefault();
          const path = `/v1/conversations/${encodeURIComponent(conversation.id)}?update_mask=title`;
          if (!(await attempt(() => call("PATCH", path, { title })))) return;
          setTitle(null);
          again();
        }}>
          <input
            dir="auto" aria-label={t("conversations.title")} value={title} maxLength={200} autofocus
            onInput={(event) => setTitle(event.currentTarget.value)} onKeyDown={(event) => event.key === "Escape" && setTitle(null)}
          />
        </form>
      </li>
    );
  }
  return (
    <li>
      <a dir="auto" href={link("ask", conversation.id)} aria-current={current ? "true" : undefined} title={name}>{name}</a>
      <button type="button" class="plain" aria-pressed={pinned} aria-label={`${t("recent.pin")}: ${name}`} title={t("recent.pin")} onClick={pin}><Icon name="pin" /></button>
      <button type="button" class="plain" aria-label={`${t("conversations.rename")}: ${name}`} title={t("conversations.rename")} onClick={() => setTitle(conversation.title)}><Icon name="edit" /></button>
    </li>
  );
}
