// How questions are asked, answered again and edited: one stream of events, folded into a turn.
import { events, freshId, get } from "../api/client";
import type { AnswerPart, AskResponse, ConversationMessage, ListMessagesResponse } from "../api/types";
import { faultOf } from "../parts/failure";
import type { Turn } from "./turn";

export const PARTS: AnswerPart[] = [
  "ANSWER_PART_STAGES", "ANSWER_PART_SOURCES", "ANSWER_PART_CLAIMS", "ANSWER_PART_CITATIONS", "ANSWER_PART_TOKEN_PLAN",
];

export function fresh(question: string): Turn {
  return { id: freshId(), question, questionId: "", versions: [], text: "", citations: [], sources: [], degradations: [], stage: "" };
}

/** Follow the events of an answer; `changed` is given the turn as it is after each, at most once a frame. */
export async function follow(path: string, body: object, turn: Turn, stop: AbortSignal, changed: (turn: Turn) => void): Promise<Turn> {
  let now = turn;
  let due = 0;
  const tell = () => {
    due ||= requestAnimationFrame(() => {
      due = 0;
      changed(now);
    });
  };
  const began = performance.now();
  try {
    for await (const event of events<AskResponse>("POST", path, { ...body, include: PARTS, request_id: freshId() }, stop)) {
      now = step(now, event, began);
      tell();
    }
    if (!now.answer) now = { ...now, stopped: true };
  } catch (error) {
    now = stop.aborted ? { ...now, stopped: true } : { ...now, fault: faultOf(error) };
  }
  cancelAnimationFrame(due);
  changed(now);
  return now;
}

function step(turn: Turn, event: AskResponse, began: number): Turn {
  if (event.text_delta !== undefined) return { ...turn, text: turn.text + event.text_delta };
  if (event.stage) return event.stage.finished ? turn : { ...turn, stage: event.stage.stage };
  if (event.sources) return { ...turn, sources: event.sources.sources };
  if (event.citation) return { ...turn, citations: [...turn.citations, event.citation] };
  if (!event.completed) return turn;
  const { answer, sources, degradations, token_plan: plan, question_id: questionId } = event.completed;
  const seconds = (performance.now() - began) / 1000;
  return {
    ...turn, questionId, degradations, seconds,
    ...(answer && { answer, text: answer.text }),
    ...(plan && { plan }),
    sources: sources.length ? sources : turn.sources,
  };
}

/** Return all messages of a conversation with what is shown of them, oldest first. */
export async function messagesOf(conversationId: string): Promise<ConversationMessage[]> {
  const include = ["ANSWER_PART_SOURCES", "ANSWER_PART_CLAIMS"].map((part) => `include=${part}`).join("&");
  const found: ConversationMessage[] = [];
  let token = "";
  do {
    const path = `/v1/conversations/${encodeURIComponent(conversationId)}/messages?page_size=200&${include}`;
    const page = await get<ListMessagesResponse>(`${path}&page_token=${encodeURIComponent(token)}`);
    found.push(...page.messages);
    token = page.next_page_token;
  } while (token);
  return inOrder(found);
}

export const inOrder = (messages: ConversationMessage[]) => messages.sort((a, b) => (a.create_time ?? "").localeCompare(b.create_time ?? ""));

/** Return the turns of a conversation from its messages. */
export function turnsOf(messages: ConversationMessage[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    if (message.role === "MESSAGE_ROLE_USER") {
      turns.push({ ...fresh(message.text), id: message.id, questionId: message.id, versions: message.versions, unanswered: true });
    } else if (message.role === "MESSAGE_ROLE_ASSISTANT") {
      const index = turns.findIndex((one) => one.questionId === message.question_id);
      const at = index >= 0 ? index : turns.length - 1;
      const turn = turns[at];
      if (!turn) continue;
      turns[at] = {
        ...turn, unanswered: false, text: message.text, sources: message.sources, degradations: message.degradations,
        ...(message.answer && { answer: message.answer }),
      };
    }
  }
  return turns;
}
