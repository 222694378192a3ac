// Earlier conversations: found by title and messages, opened, renamed, deleted.
import { useState } from "preact/hooks";
import { call, get } from "../api/client";
import type { Conversation, ListConversationsResponse } from "../api/types";
import { Confirm } from "../parts/confirm";
import { Failure } from "../parts/failure";
import { type Doing, useLoaded } from "../parts/load";
import { link, titleAt } from "../state";
import { counted, date, t } from "../strings";

const PAGE = 50;

export function Conversations() {
  const [query, setQuery] = useState("");
  const [pages, setPages] = useState(1);
  const { value, fault, doing } = useLoaded((stop) => read(query, pages, stop), [query, pages]);
  return (
    <div class="page">
      <h1>{t("nav.conversations")}</h1>
      <div class="row filters">
        <input type="search" maxLength={256} aria-label={t("conversations.search")} placeholder={t("conversations.search")} value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
      </div>
      {fault && <Failure fault={fault} />}
      {!value && !fault && <p class="quiet">{t("loading")}</p>}
      {value?.found.length === 0 && <p class="quiet">{t("conversations.none")}</p>}
      <ul class="list">{value?.found.map((one) => <One key={one.id} conversation={one} doing={doing} />)}</ul>
      {value?.more && <button type="button" onClick={() => setPages(pages + 1)}>{t("more")}</button>}
    </div>
  );
}

async function read(query: string, pages: number, stop: AbortSignal): Promise<{ found: Conversation[]; more: boolean }> {
  const found: Conversation[] = [];
  let token = "";
  for (let page = 0; page < pages; page++) {
    const words = new URLSearchParams({ query, page_size: String(PAGE), page_token: token });
    const next = await get<ListConversationsResponse>(`/v1/conversations?${words}`, stop);
    found.push(...next.conversations);
    token = next.next_page_token;
    if (!token) break;
  }
  return { found, more: Boolean(token) };
}

function One({ conversation, doing }: { conversation: Conversation; doing: Doing }) {
  const [title, setTitle] = useState<string | null>(null);
  const path = `/v1/conversations/${encodeURIComponent(conversation.id)}`;
  const name = conversation.title || t("conversations.untitled");
  if (title !== null) {
    return (
      <li>
        <form class="row" onSubmit={async (event) => {
          event.preventDefault();
          if (await doing(() => call("PATCH", `${path}?update_mask=title`, { title }))) setTitle(null);
        }}>
          <input dir="auto" aria-label={t("conversations.title")} value={title} maxLength={200} autofocus onInput={(event) => setTitle(event.currentTarget.value)} />
          <button class="primary">{t("save")}</button>
          <button type="button" class="plain" onClick={() => setTitle(null)}>{t("cancel")}</button>
        </form>
      </li>
    );
  }
  return (
    <li>
      <div class="item-main">
        <a class="item-name" dir="auto" href={link("ask", conversation.id)}>{name}</a>
        <span class="quiet facts">
          <span>{counted("messages", conversation.message_count)}</span>
          <span>{date(conversation.update_time)}</span>
          {conversation.collections.map((one) => <span class="tag" dir="auto">{titleAt(one)}</span>)}
        </span>
      </div>
      <div class="item-actions">
        <button type="button" class="plain" aria-label={`${t("conversations.rename")}: ${name}`} onClick={() => setTitle(conversation.title)}>{t("conversations.rename")}</button>
        <Confirm label={t("delete")} about={name} sure={t("delete.sure")} act={() => doing(() => call("DELETE", path))} />
      </div>
    </li>
  );
}
