// A conversation or an answer that another user shares: read, and nothing else.
import { get } from "../api/client";
import type { ConversationMessage, GetSharedConversationResponse, SharedConversation } from "../api/types";
import { Answer } from "../parts/answer";
import { Failure } from "../parts/failure";
import { useLoaded } from "../parts/load";
import { date, t } from "../strings";
import { inOrder, turnsOf } from "./asking";

interface Found {
  shared: SharedConversation;
  messages: ConversationMessage[];
}

export function Shared({ id }: { id: string }) {
  const { value, fault } = useLoaded((stop) => read(id, stop), [id]);
  if (fault) return <div class="page"><h1>{t("shared.none")}</h1><p class="quiet">{t("shared.none.lead")}</p>{fault.reason !== "CONVERSATION_NOT_FOUND" && <Failure fault={fault} />}</div>;
  if (!value) return <p class="quiet" role="status">{t("loading")}</p>;
  const { shared, messages } = value;
  return (
    <div class="ask">
      <div class="thread">
        <header class="shared-head">
          <h1 dir="auto">{shared.answer_id ? t("shared.answer") : shared.title || messages[0]?.text || t("conversations.untitled")}</h1>
          <p class="quiet">{t("shared.by", { user: shared.user_id, date: date(shared.share_time!) })}</p>
        </header>
        {turnsOf(messages).map((turn) => (
          <article class="turn" key={turn.id}>
            <div class="question"><h2 dir="auto">{turn.question}</h2></div>
            {turn.text ? (
              <section class="answer" aria-label={t("ask.answer")}>
                <Answer text={turn.answer?.text ?? turn.text} citations={turn.answer?.citations ?? []} claims={turn.answer?.claims ?? []} sources={turn.sources} />
              </section>
            ) : <p class="notice">{t("ask.unanswered")}</p>}
          </article>
        ))}
      </div>
    </div>
  );
}

async function read(id: string, stop: AbortSignal): Promise<Found> {
  const include = ["ANSWER_PART_SOURCES", "ANSWER_PART_CLAIMS"].map((part) => `include=${part}`).join("&");
  const messages: ConversationMessage[] = [];
  let shared: SharedConversation | undefined;
  let token = "";
  do {
    const path = `/v1/shares/${encodeURIComponent(id)}?page_size=200&${include}&page_token=${encodeURIComponent(token)}`;
    const page = await get<GetSharedConversationResponse>(path, stop);
    shared = page.shared;
    messages.push(...page.messages);
    token = page.next_page_token;
  } while (token);
  return { shared: shared!, messages: inOrder(messages) };
}
