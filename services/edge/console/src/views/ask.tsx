// Asking: a conversation of questions, each answered with checked footnotes.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { call, get } from "../api/client";
import { refused } from "../api/session";
import type { CreateConversationResponse, GetConversationResponse } from "../api/types";
import { Failure, type Fault, attempt, faultOf } from "../parts/failure";
import { Icon } from "../parts/icons";
import { useNow } from "../parts/load";
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
/** Code of a key that an input method takes: Safari's Enter that ends a word, which comes after the composing. */
const COMPOSED = 229;

export function Ask({ conversation: opened }: { conversation: string }) {
  const [turns, turnsNow, setTurns] = useNow<Turn[]>([]);
  const [asked, askedNow, setAsked] = useNow(EVERYWHERE);
  const [draft, setDraft] = useState(keptDraft);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const conversation = useRef("");
  const making = useRef<Promise<string> | null>(null);
  /** Reads the opened conversation; after a failure it is to be read again. */
  const reading = useRef<Promise<void> | null>(null);
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
    stop.current = null;
    setBusy(false);
    conversation.current = opened;
    making.current = null;
    reading.current = null;
    setTurns(() => []);
    setFault(null);
    hide();
    if (opened) read(opened).catch((error) => conversation.current === opened && setFault(faultOf(error)));
    else box.current?.focus();
  }, [opened]);

  /** Read the conversation that is opened, once; what was asked meanwhile stays after it. */
  function read(of: string): Promise<void> {
    if (reading.current) return reading.current;
    const before = askedNow.current;
    const own = load(of).then(({ turns, collections }) => {
      if (reading.current !== own) return;
      setTurns((now) => [...turns, ...now]);
      setAsked((now) => (now === before ? { ...EVERYWHERE, collections } : now)); // what is chosen meanwhile stays
      setFault(null);
    }, (error) => {
      if (reading.current === own) reading.current = null;
      throw error;
    });
    reading.current = own;
    return own;
  }

  const thread = useRef<HTMLDivElement>(null);
  // Whoever has scrolled up to read stays there; whoever is at the end is kept at the end.
  const following = useRef(true);
  useLayoutEffect(() => {
    if (following.current) thread.current?.scrollTo({ top: thread.current.scrollHeight });
  }, [turns]);
  const put = (turn: Turn) => setTurns((all) => all.map((one) => (one.id === turn.id ? turn : one)));
  const shows = (turn: Turn) => turnsNow.current.some((one) => one.id === turn.id);

  /** Begin what nothing is asked beside; return what stops it. */
  function begin(): AbortController {
    stop.current = new AbortController();
    setBusy(true);
    return stop.current;
  }
  const end = (control: AbortController) => {
    if (stop.current === control) setBusy(false);
  };

  async function run(path: string, body: object, turn: Turn, control = begin()): Promise<Turn> {
    announced.value = t("ask.searching");
    const done = await follow(path, body, turn, control.signal, put);
    end(control);
    questions.value++;
    // Who has to sign in again finds the question in the box.
    if (refused.value && !done.questionId) putBack(turn.question);
    const { reliability } = done.answer ?? {};
    announced.value = done.answer
      ? `${done.answer.text} ${t("ask.done", { supported: number(Math.round((reliability?.claims_supported ?? 0) * (reliability?.claims ?? 0))), claims: reliability?.claims ?? 0 })}`
      : done.stopped ? t("ask.stopped") : done.fault?.detail ?? "";
    return done;
  }

  /** Return the conversation's id once it is read; the first question or file makes it, once for all that begin at a time. */
  function begun(): Promise<string> {
    const of = conversation.current;
    if (of) return read(of).then(() => of);
    if (!making.current) {
      const own = call<CreateConversationResponse>("POST", "/v1/conversations", { collections: asked.collections }).then((made) => {
        const id = made.conversation?.id ?? "";
        // Where another conversation was opened meanwhile, that one stays shown.
        if (making.current === own) {
          conversation.current = id;
          reading.current = Promise.resolve();
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
  const include = (of: string, name: string) => attempt(async () => {
    const shown = conversation.current === of;
    const { collections, said } = shown ? { collections: askedNow.current.collections, said: turnsNow.current.length } : await headOf(of);
    if (collections.includes(name) || (!collections.length && said)) return;
    const named = [...collections, name];
    if (shown) setAsked((now) => ({ ...now, collections: named }));
    await call("PATCH", `/v1/conversations/${encodeURIComponent(of)}?update_mask=collections`, { collections: named });
  });

  async function ask(question: string): Promise<void> {
    const turn = fresh(question);
    setTurns((all) => [...all, turn]);
    following.current = true;
    const control = begin();
    let of: string;
    try {
      of = await begun();
    } catch (error) {
      put({ ...turn, fault: faultOf(error) });
      if (refused.value) putBack(question);
      end(control);
      return;
    }
    if (!shows(turn)) {
      // Another conversation was opened before this one was there: the question goes back into the box.
      if (!keptDraft()) write(question);
      end(control);
      return;
    }
    if (turnsNow.current[0]?.id === turn.id) newest.value = { id: of, question };
    await run("/v1/ask", { question, ...requestOf(askedNow.current), conversation_id: of }, turn, control);
  }

  async function again(turn: Turn): Promise<void> {
    const cleared = { ...fresh(turn.question), id: turn.id, questionId: turn.questionId };
    put(cleared);
    const control = begin();
    let of: string;
    try {
      of = await begun();
      if (!cleared.questionId) cleared.questionId = await questionOf(of, turn.question, new Set(turnsNow.current.map((one) => one.questionId)));
    } catch (error) {
      put({ ...turn, fault: faultOf(error) });
      end(control);
      return;
    }
    if (!shows(cleared)) return end(control); // another conversation was opened: the question stays unanswered
    if (cleared.questionId) await run(`/v1/messages/${encodeURIComponent(cleared.questionId)}:regenerate`, {}, cleared, control);
    else await run("/v1/ask", { question: turn.question, ...requestOf(askedNow.current), conversation_id: of }, cleared, control);
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
      setTurns(() => before);
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
    const control = begin();
    following.current = false;
    const of = conversation.current;
    await attempt(async () => {
      await call("POST", `/v1/messages/${encodeURIComponent(questionId)}:restore`, {});
      const { turns } = await load(of);
      if (conversation.current !== of) return;
      setTurns(() => turns);
      requestAnimationFrame(() => {
        const group = document.getElementById(versionsId(questionId));
        group?.querySelector<HTMLElement>("button:enabled")?.focus();
        announced.value = group?.textContent ?? "";
      });
    });
    end(control);
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
        if (!draft.trim() || busy) return;
        write("");
        void ask(draft.trim());
      }}>
        <textarea
          ref={box} rows={1} dir="auto" maxLength={8000} aria-label={t("ask.question")} placeholder={t("ask.placeholder")} value={draft}
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === COMPOSED) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
        />
        <Attachments conversation={conversation.current} />
        <div class="row">
          <Scope asked={asked} change={(to) => setAsked(() => to)} />
          <Attach conversation={begun} added={include} failed={(error) => setFault(faultOf(error))} />
          {turns.length > 0 && <button type="button" class="plain" aria-label={t("ask.new")} title={t("ask.new")} onClick={() => { conversation.current ? go("ask") : setTurns(() => []); }}><Icon name="more" /></button>}
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
  const [{ collections }, messages] = await Promise.all([headOf(id), messagesOf(id), readRatings(id)]);
  return { turns: turnsOf(messages), collections };
}

/** Return what a conversation is asked of, and how many messages it has. */
async function headOf(id: string): Promise<{ collections: string[]; said: number }> {
  const { conversation } = await get<GetConversationResponse>(`/v1/conversations/${encodeURIComponent(id)}`);
  return { collections: conversation?.collections ?? [], said: conversation?.message_count ?? 0 };
}

/** Return the id of the last question with these words, which an answer that did not end has not brought; "" for none. */
async function questionOf(conversationId: string, text: string, known: Set<string>): Promise<string> {
  if (!conversationId) return "";
  const said = await messagesOf(conversationId);
  return said.findLast((one) => one.role === "MESSAGE_ROLE_USER" && one.text === text && !known.has(one.id))?.id ?? "";
}
