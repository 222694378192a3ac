// Asking: a conversation of questions, each answered with checked footnotes.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { call, get } from "../api/client";
import { refused } from "../api/session";
import type { CreateConversationResponse, GetConversationResponse } from "../api/types";
import { Failure, type Fault, attempt, faultOf } from "../parts/failure";
import { Icon } from "../parts/icons";
import { announced, collections, go, hide, link, me, settle } from "../state";
import { number, t } from "../strings";
import { Attach, Attachments } from "./attaching";
import { EVERYWHERE, Scope, requestOf } from "./asked";
import { follow, fresh, messagesOf, turnsOf } from "./asking";
import { keepDraft, keptDraft, putBack } from "./draft";
import { readRatings } from "./rating";
import { begun as newest, asked as questions } from "./recent";
import { FollowUps, Starters } from "./starters";
import { Share } from "./share";
import { type Turn, TurnView, versionsId } from "./turn";

/** Pixels from the end that count as being at the end. */
const NEAR = 80;

export function Ask({ conversation: opened }: { conversation: string }) {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [asked, setAsked] = useState(EVERYWHERE);
  const [draft, setDraft] = useState(keptDraft);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const conversation = useRef("");
  const making = useRef<Promise<string> | null>(null);
  const stop = useRef<AbortController | null>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const write = (text: string) => {
    setDraft(text);
    keepDraft(text);
  };

  useEffect(() => {
    box.current?.focus();
    return () => stop.current?.abort();
  }, []);
  useEffect(() => {
    if (opened === conversation.current) return;
    stop.current?.abort();
    conversation.current = opened;
    making.current = null;
    setTurns([]);
    setFault(null);
    hide();
    const here = () => conversation.current === opened;
    if (opened) load(opened).then(({ turns, collections }) => { if (here()) { setTurns(turns); setAsked({ ...EVERYWHERE, collections }); } }).catch((error) => here() && setFault(faultOf(error)));
    else box.current?.focus();
  }, [opened]);

  const thread = useRef<HTMLDivElement>(null);
  // Whoever has scrolled up to read stays there; whoever is at the end is kept at the end.
  const following = useRef(true);
  useLayoutEffect(() => {
    if (following.current) thread.current?.scrollTo({ top: thread.current.scrollHeight });
  }, [turns]);
  const put = (turn: Turn) => setTurns((all) => all.map((one) => (one.id === turn.id ? turn : one)));

  async function run(path: string, body: object, turn: Turn): Promise<Turn> {
    const control = new AbortController();
    stop.current = control;
    setBusy(true);
    announced.value = t("ask.searching");
    const done = await follow(path, body, turn, control.signal, put);
    if (stop.current === control) setBusy(false);
    questions.value++;
    // Who has to sign in again finds the question in the box.
    if (refused.value && !done.questionId) putBack(turn.question);
    const { reliability } = done.answer ?? {};
    announced.value = done.answer
      ? `${done.answer.text} ${t("ask.done", { supported: number(Math.round((reliability?.claims_supported ?? 0) * (reliability?.claims ?? 0))), claims: reliability?.claims ?? 0 })}`
      : done.stopped ? t("ask.stopped") : done.fault?.detail ?? "";
    return done;
  }

  /** Return the conversation's id; the first question or file makes it, once for all that begin at a time. */
  function begun(): Promise<string> {
    if (conversation.current) return Promise.resolve(conversation.current);
    if (!making.current) {
      const own = call<CreateConversationResponse>("POST", "/v1/conversations", { collections: asked.collections }).then((made) => {
        const id = made.conversation?.id ?? "";
        // Where another conversation was opened meanwhile, that one stays shown.
        if (making.current === own) {
          conversation.current = id;
          settle("ask", id);
        }
        return id;
      }).finally(() => {
        if (making.current === own) making.current = null;
      });
      making.current = own;
    }
    return making.current;
  }

  /**
   * Ask from a collection too in the conversation that it is of, from now on and after a reload. A new conversation is asked
   * of its files alone; one that was asked of everything goes on so, and has them.
   */
  function include(of: string, name: string): void {
    if (asked.collections.includes(name) || (!asked.collections.length && turns.length)) return;
    const named = [...asked.collections, name];
    if (conversation.current === of) setAsked((now) => ({ ...now, collections: named }));
    void attempt(() => call("PATCH", `/v1/conversations/${encodeURIComponent(of)}?update_mask=collections`, { collections: named }));
  }

  async function ask(question: string): Promise<void> {
    const turn = fresh(question);
    setTurns((all) => [...all, turn]);
    write("");
    following.current = true;
    let of: string;
    try {
      of = await begun();
    } catch (error) {
      put({ ...turn, fault: faultOf(error) });
      if (refused.value) putBack(question);
      return;
    }
    if (conversation.current !== of) {
      // Another conversation was opened before this one was there: the question goes back into the box.
      if (!keptDraft()) write(question);
      return;
    }
    if (!turns.length) newest.value = { id: of, question };
    await run("/v1/ask", { question, ...requestOf(asked), conversation_id: of }, turn);
  }

  async function again(turn: Turn): Promise<void> {
    const cleared = { ...fresh(turn.question), id: turn.id, questionId: turn.questionId };
    put(cleared);
    if (!cleared.questionId) {
      const known = new Set(turns.map((one) => one.questionId));
      try {
        cleared.questionId = await questionOf(conversation.current, turn.question, known);
      } catch (error) {
        put({ ...turn, fault: faultOf(error) });
        return;
      }
    }
    if (cleared.questionId) await run(`/v1/messages/${encodeURIComponent(cleared.questionId)}:regenerate`, {}, cleared);
    else await run("/v1/ask", { question: turn.question, ...requestOf(asked), conversation_id: conversation.current }, cleared);
  }

  async function edit(turn: Turn, text: string): Promise<void> {
    const changed = { ...fresh(text), id: turn.id };
    const before = turns;
    const of = conversation.current;
    // An edited question ends what came after it; both are kept as a version.
    setTurns((all) => [...all.slice(0, all.findIndex((one) => one.id === turn.id)), changed]);
    const done = await run(`/v1/messages/${encodeURIComponent(turn.questionId)}:edit`, { text, keep_replaced: true }, changed);
    if (conversation.current !== of) return; // another conversation is shown, which the edit must not overwrite
    if (!done.answer) {
      // Nothing was replaced: what was there stays, and the words are in the box.
      setTurns(before);
      if (done.fault) setFault(done.fault);
      if (!keptDraft()) write(text);
      return;
    }
    await attempt(async () => {
      const said = await messagesOf(conversation.current);
      put({ ...done, versions: said.find((one) => one.id === done.questionId)?.versions ?? [] });
    });
  }

  async function restore(questionId: string): Promise<void> {
    setBusy(true);
    following.current = false;
    const of = conversation.current;
    await attempt(async () => {
      await call("POST", `/v1/messages/${encodeURIComponent(questionId)}:restore`, {});
      const { turns } = await load(of);
      if (conversation.current !== of) return;
      setTurns(turns);
      requestAnimationFrame(() => {
        const group = document.getElementById(versionsId(questionId));
        group?.querySelector<HTMLElement>("button:enabled")?.focus();
        announced.value = group?.textContent ?? "";
      });
    });
    setBusy(false);
  }

  const last = turns.at(-1);
  return (
    <div class="ask">
      <div class="thread" ref={thread} onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        following.current = scrollHeight - scrollTop - clientHeight < NEAR;
      }}>
        {turns.length === 0 && !fault && (
          <div class="welcome">
            <h1>{t("ask.title")}</h1>
            <p class="quiet">{t("ask.lead")}</p>
            {collections.value.length === 0 && <p>{t("ask.empty")} {me.value?.role !== "ROLE_READER" && <a href={link("documents")}>{t("ask.upload")}</a>}</p>}
            {collections.value.length > 0 && <Starters collections={asked.collections} ask={ask} />}
          </div>
        )}
        {fault && <Failure fault={fault} />}
        {turns.map((turn, index) => <TurnView key={turn.id} after={messagesIn(turns.slice(index + 1))} turn={turn} conversation={conversation.current} collections={asked.collections} busy={busy} again={() => again(turn)} edit={(text) => edit(turn, text)} restore={restore} />)}
        {last?.answer && !busy && <FollowUps sources={last.sources} citations={last.answer.citations} ask={ask} />}
      </div>
      <form class="asker" onSubmit={(event) => {
        event.preventDefault();
        if (draft.trim() && !busy) ask(draft.trim());
      }}>
        <textarea
          ref={box} rows={1} dir="auto" maxLength={8000} aria-label={t("ask.question")} placeholder={t("ask.placeholder")} value={draft}
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
        />
        <Attachments conversation={conversation.current} />
        <div class="row">
          <Scope asked={asked} change={setAsked} />
          <Attach conversation={begun} added={include} failed={(error) => setFault(faultOf(error))} />
          {turns.length > 0 && <button type="button" class="plain" aria-label={t("ask.new")} title={t("ask.new")} onClick={() => { conversation.current ? go("ask") : setTurns([]); }}><Icon name="more" /></button>}
          {conversation.current && turns.length > 0 && <Share conversation={conversation.current} busy={busy} key={conversation.current} />}
          <span class="space" />
          {/* Two places of their own: a second click on Stop, when the answer has just ended, must not send the draft. */}
          {busy && <button type="button" onClick={() => { stop.current?.abort(); box.current?.focus(); }}><Icon name="stop" />{t("ask.stop")}</button>}
          <button class="primary" disabled={busy || !draft.trim()}><Icon name="send" />{t("ask.send")}</button>
        </div>
      </form>
    </div>
  );
}

const messagesIn = (turns: Turn[]) => turns.reduce((all, turn) => all + (turn.text ? 2 : 1), 0);

async function load(id: string): Promise<{ turns: Turn[]; collections: string[] }> {
  const [head, messages] = await Promise.all([
    get<GetConversationResponse>(`/v1/conversations/${encodeURIComponent(id)}`), messagesOf(id), readRatings(id),
  ]);
  return { turns: turnsOf(messages), collections: head.conversation?.collections ?? [] };
}

/** Return the id of the last question with these words, which an answer that did not end has not brought; "" for none. */
async function questionOf(conversationId: string, text: string, known: Set<string>): Promise<string> {
  if (!conversationId) return "";
  const said = await messagesOf(conversationId);
  return said.findLast((one) => one.role === "MESSAGE_ROLE_USER" && one.text === text && !known.has(one.id))?.id ?? "";
}
