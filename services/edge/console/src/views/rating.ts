// The caller's own verdicts on answers and footnotes: read with their conversation, given, withdrawn.
import { signal } from "@preact/signals";
import { call, get } from "../api/client";
import type { Feedback, ListFeedbackResponse, Rating } from "../api/types";
import { attempt } from "../parts/failure";
import { announced } from "../state";
import { t } from "../strings";

/** Verdicts by answer and number of the citation; 0 is the answer as a whole. */
const given = signal<ReadonlyMap<string, Rating>>(new Map());

const keyOf = (answerId: string, citation: number) => `${answerId} ${citation}`;

export const rated = (answerId: string, citation = 0): Rating | undefined => given.value.get(keyOf(answerId, citation));

function note(found: [string, Rating | undefined][]): void {
  const all = new Map(given.value);
  for (const [key, rating] of found) {
    if (rating) all.set(key, rating);
    else all.delete(key);
  }
  given.value = all;
}

/** Read what was given before on the answers of a conversation. */
export async function readRatings(conversationId: string): Promise<void> {
  const found: Feedback[] = [];
  let token = "";
  do {
    const words = new URLSearchParams({ conversation_id: conversationId, page_size: "1000", page_token: token });
    const page = await get<ListFeedbackResponse>(`/v1/feedback?${words}`);
    found.push(...page.feedback);
    token = page.next_page_token;
  } while (token);
  note(found.map((one) => [keyOf(one.answer_id, one.citation), one.rating]));
}

/** Give a verdict, or withdraw the same one; return whether that worked. */
export async function rate(answerId: string, citation: number, rating: Rating | undefined, comment = ""): Promise<boolean> {
  const path = `/v1/answers/${encodeURIComponent(answerId)}/feedback?citation=${citation}`;
  const done = await attempt(() => (rating
    ? call("POST", "/v1/feedback", { answer_id: answerId, citation, rating, comment })
    : call("DELETE", path)));
  if (!done) return false;
  note([[keyOf(answerId, citation), rating]]);
  announced.value = t(rating ? "answer.thanks" : "answer.withdrawn");
  return true;
}
