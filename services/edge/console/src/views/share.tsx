// Sharing a conversation inside the tenant: its link, until when, and no longer.
import { useState } from "preact/hooks";
import { call, get } from "../api/client";
import type { GetConversationResponse, ShareConversationResponse, SharedConversation } from "../api/types";
import { attempt, copy } from "../parts/failure";
import { Icon } from "../parts/icons";
import { announced, link } from "../state";
import { date, t } from "../strings";

interface Props {
  conversation: string;
  busy: boolean;
}

export function Share({ conversation, busy }: Props) {
  const [shared, setShared] = useState<SharedConversation | null>(null);
  const [open, setOpen] = useState(false);
  const path = `/v1/conversations/${encodeURIComponent(conversation)}`;
  const show = () => attempt(async () => {
    if (!open) setShared((await get<GetConversationResponse>(path)).conversation?.shared ?? null);
    setOpen(!open);
  });
  const share = () => attempt(async () => {
    setShared((await call<ShareConversationResponse>("POST", `${path}:share`, {})).shared!);
    announced.value = t("share.done");
  });
  const end = () => attempt(async () => {
    await call("POST", `${path}:unshare`, {});
    setShared(null);
    announced.value = t("share.ended");
  });
  const address = shared && `${location.origin}${location.pathname}${link("shared", shared.share_id)}`;
  return (
    <>
      <button type="button" class="plain" disabled={busy} aria-expanded={open} aria-label={t("share.title")} title={t("share.title")} onClick={show}><Icon name="share" /></button>
      {open && (
        <div class="scope share" role="group" aria-label={t("share.title")}>
          <p class="quiet">{t("share.lead")}</p>
          {shared ? (
            <>
              <input type="text" readOnly dir="ltr" aria-label={t("share.link")} value={address!} onFocus={(event) => event.currentTarget.select()} />
              <div class="row">
                <button type="button" class="primary" onClick={() => attempt(async () => { await copy(address!); announced.value = t("answer.copied"); })}>{t("share.copy")}</button>
                <button type="button" onClick={share}>{t("share.again")}</button>
                <button type="button" onClick={end}>{t("share.end")}</button>
              </div>
              <p class="quiet">{t("share.until", { date: date(shared.share_time!) })}</p>
            </>
          ) : <button type="button" class="primary" onClick={share}>{t("share.go")}</button>}
        </div>
      )}
    </>
  );
}
