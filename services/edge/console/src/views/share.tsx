// Sharing a conversation, or one answer of it, inside the tenant: its link, until when, and no longer.
import { useState } from "preact/hooks";
import { call, get } from "../api/client";
import type { GetConversationResponse, ShareConversationResponse, SharedConversation } from "../api/types";
import { attempt, copy } from "../parts/failure";
import { Icon } from "../parts/icons";
import { announced, link } from "../state";
import { date, number, t } from "../strings";

interface Props {
  conversation: string;
  /** The answer that is shared with its question; none shares the conversation. */
  answer?: string;
  busy: boolean;
}

export function Share({ conversation, answer, busy }: Props) {
  const [shared, setShared] = useState<SharedConversation | null>(null);
  /** Answers that are shared by themselves. */
  const [alone, setAlone] = useState(0);
  const [open, setOpen] = useState(false);
  const path = `/v1/conversations/${encodeURIComponent(conversation)}`;
  const of = answer ? { answer_id: answer } : {};
  const title = t(answer ? "share.answer" : "share.title");
  const show = () => attempt(async () => {
    if (!open) {
      const { shared: whole, shared_answers: answers } = (await get<GetConversationResponse>(path)).conversation!;
      setShared((answer ? answers.find((one) => one.answer_id === answer) : whole) ?? null);
      setAlone(answer ? 0 : answers.length);
    }
    setOpen(!open);
  });
  const share = () => attempt(async () => {
    setShared((await call<ShareConversationResponse>("POST", `${path}:share`, of)).shared!);
    announced.value = t("share.done");
  });
  const end = () => attempt(async () => {
    await call("POST", `${path}:unshare`, of);
    setShared(null);
    setAlone(0);
    announced.value = t("share.ended");
  });
  const address = shared && `${location.origin}${location.pathname}${link("shared", shared.share_id)}`;
  return (
    <>
      <button type="button" class="plain" disabled={busy} aria-expanded={open} aria-label={title} title={title} onClick={show}><Icon name="share" /></button>
      {open && (
        <div class="scope share" role="group" aria-label={title}>
          <p class="quiet">{t(answer ? "share.answer.lead" : "share.lead")}</p>
          {shared ? (
            <>
              <input type="text" readOnly dir="ltr" aria-label={t("share.link")} value={address!} onFocus={(event) => event.currentTarget.select()} />
              <div class="row">
                <button type="button" class="primary" onClick={() => attempt(async () => { await copy(address!); announced.value = t("answer.copied"); })}>{t("share.copy")}</button>
                {!answer && <button type="button" onClick={share}>{t("share.again")}</button>}
                <button type="button" onClick={end}>{t("share.end")}</button>
              </div>
              {!answer && <p class="quiet">{t("share.until", { date: date(shared.share_time!) })}</p>}
            </>
          ) : (
            <div class="row">
              <button type="button" class="primary" onClick={share}>{t("share.go")}</button>
              {alone > 0 && <button type="button" onClick={end}>{t("share.end")}</button>}
            </div>
          )}
          {alone > 0 && <p class="quiet">{t("share.alone", { answers: number(alone) })}</p>}
        </div>
      )}
    </>
  );
}
