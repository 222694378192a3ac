// One question and what came of it.
import { useEffect, useRef, useState } from "preact/hooks";
import type {
  Answer as AnswerMessage, Citation, Degradation, FinishReason, PipelineStage, Rating, Source, TokenPlan,
} from "../api/types";
import { Made } from "../made/made";
import { Answer, footnotes, withFootnotes } from "../parts/answer";
import { shownNumbers } from "../parts/marks";
import { Failure, type Fault, attempt, copy } from "../parts/failure";
import { Icon } from "../parts/icons";
import { announced, show } from "../state";
import { type Key, counted, isolate, named, number, t } from "../strings";
import { keep } from "../viewer/viewer";
import { Computed } from "./computed";
import { Nearest } from "./nearest";
import { rate, rated } from "./rating";
import { Share } from "./share";

/** A question with as much of its answer as has come. */
export interface Turn {
  id: string;
  question: string;
  questionId: string;
  /** The questions between which one chooses here, oldest first; fewer than two where none was edited. */
  versions: string[];
  text: string;
  citations: Citation[];
  sources: Source[];
  degradations: Degradation[];
  stage: PipelineStage | "";
  answer?: AnswerMessage;
  plan?: TokenPlan;
  seconds?: number;
  stopped?: boolean;
  /** Nothing of an answer is kept. */
  unanswered?: boolean;
  fault?: Fault;
}

const STAGES: Partial<Record<PipelineStage, Key>> = {
  PIPELINE_STAGE_RETRIEVAL: "ask.searching",
  PIPELINE_STAGE_AUGMENTATION: "ask.reading",
  PIPELINE_STAGE_GENERATION: "ask.writing",
};
const ENDS: Partial<Record<FinishReason, Key>> = {
  FINISH_REASON_NO_RELEVANT_CONTENT: "answer.notfound",
  FINISH_REASON_ANSWERED_WITHOUT_SOURCES: "answer.unsourced",
  FINISH_REASON_MAX_TOKENS: "answer.cut",
  FINISH_REASON_REFUSED: "answer.refused",
};

interface Props {
  turn: Turn;
  /** The conversation that it is in; none until it is made. */
  conversation: string;
  /** Where it was asked; none means everywhere. */
  collections: string[];
  /** How many messages come after it. */
  after: number;
  busy: boolean;
  again: () => void;
  edit: (text: string) => void;
  /** Bring another version of the question back, with all that came after it. */
  restore: (questionId: string) => void;
}

export function TurnView({ turn, conversation, collections, after, busy, again, edit, restore }: Props) {
  const { answer } = turn;
  const running = !answer && !turn.fault && !turn.stopped && !turn.unanswered;
  const cut = endOf(turn);
  const ended = answer && ENDS[answer.finish_reason];
  const stage = turn.stage && STAGES[turn.stage];
  return (
    <article class="turn" aria-busy={running}>
      <Question text={turn.question} busy={busy} after={after} edit={turn.questionId ? edit : undefined} />
      {turn.versions.length > 1 && <Versions turn={turn} busy={busy} restore={restore} />}
      {turn.text && (
        <section class="answer" aria-label={t("ask.answer")}>
          <Answer
            text={answer?.text ?? turn.text} citations={answer?.citations ?? turn.citations} claims={answer?.claims ?? []}
            sources={turn.sources} answerId={answer?.id}
          />
        </section>
      )}
      {answer?.claims.some((one) => one.support === "VERDICT_NOT_CONFIRMED") && <p class="quiet unconfirmed">{t("answer.unconfirmed")}</p>}
      {running && <p class="stage"><span class="dots" aria-hidden="true" />{t(stage || "ask.searching")}</p>}
      {cut && <p class="notice">{t(cut)} <button type="button" disabled={busy} onClick={again}>{t("ask.again")}</button></p>}
      {turn.fault && <Failure fault={turn.fault} again={again} />}
      {ended && <p class="notice">{t(ended)}</p>}
      {answer?.nearest && <Offered citation={answer.nearest} sources={turn.sources} answerId={answer.id} />}
      {ended === "answer.notfound" && !answer?.nearest && <Nearest question={turn.question} collections={collections} />}
      {turn.degradations.length > 0 && (
        <div class="notice degraded">
          <strong>{t("answer.degraded")}</strong>
          <ul>{turn.degradations.map((one) => <li>{said(one)}<span class="quiet" dir="auto">{one.effect} {one.detail}</span></li>)}</ul>
        </div>
      )}
      {answer && answer.warnings.length > 0 && (
        <div class="notice"><strong>{t("answer.warnings")}</strong><ul>{answer.warnings.map((one) => <li><bdi>{one}</bdi></li>)}</ul></div>
      )}
      {answer && answer.citations.length > 0 && (
        <ol class="footnotes" aria-hidden="true">{footnotes(answer.citations).map((line) => <li dir="auto">{line}</li>)}</ol>
      )}
      {answer && !cut && <Actions turn={turn} answer={answer} conversation={conversation} again={again} busy={busy} />}
      {turn.sources.length > 0 && !running && <Sources turn={turn} />}
      {answer?.computation?.query && <Computed made={answer.computation} />}
      {answer && !cut && <Made answerId={answer.id} sources={turn.sources} plan={turn.plan} />}
    </article>
  );
}

/** Return the words for an answer that did not come to its end. */
function endOf({ stopped, unanswered, answer, degradations, text }: Turn): Key | undefined {
  if (unanswered || (stopped && !text)) return "ask.unanswered";
  if (stopped) return "ask.stopped";
  if (answer?.finish_reason !== "FINISH_REASON_INTERRUPTED") return undefined;
  return degradations.length ? "ask.broken" : "ask.stopped";
}

/** What did not work, in the language of the page; the server's own words, which say what it did, stay beside it. */
const said = (one: Degradation) => (one.reason ? `${named("degradation", one.reason)} ` : "");

/** The passage that is offered with a refusal; it opens where it stands. */
function Offered({ citation, sources, answerId }: { citation: Citation; sources: Source[]; answerId: string }) {
  const source = sources.find((one) => one.number === citation.number);
  return (
    <div class="notice nearest">
      <strong>{t("answer.nearest")}</strong>{" "}
      <button type="button" class="link" dir="auto" onClick={() => show({
        documentId: citation.document_id, filename: citation.filename, mimeType: source?.mime_type ?? "", source, citation, answerId,
      })}>{citation.label}</button>
      <blockquote dir="auto">{citation.quote}</blockquote>
    </div>
  );
}

interface QuestionProps {
  text: string;
  busy: boolean;
  after: number;
  edit: ((text: string) => void) | undefined;
}

function Question({ text, busy, after, edit }: QuestionProps) {
  const [editing, setEditing] = useState(false);
  const [draft, setDraft] = useState(text);
  if (editing && edit) {
    return (
      <form class="edit" onSubmit={(event) => {
        event.preventDefault();
        setEditing(false);
        if (draft.trim() && draft !== text) edit(draft.trim());
      }}>
        <textarea dir="auto" aria-label={t("answer.edit")} value={draft} rows={2} maxLength={8000} onInput={(event) => setDraft(event.currentTarget.value)} />
        <p class="quiet">{after ? t("answer.edit.replaces", { messages: counted("messages", after) }) : t("answer.edit.replaces.last")} {t("answer.edit.kept")}</p>
        <div class="row"><button class="primary">{t("ask.send")}</button><button type="button" onClick={() => setEditing(false)}>{t("cancel")}</button></div>
      </form>
    );
  }
  return (
    <div class="question">
      <h2 dir="auto"><bdi class="hidden">{t("ask.you")}: </bdi>{text}</h2>
      {edit && (
        <button type="button" class="plain" disabled={busy} aria-label={t("answer.edit")} title={t("answer.edit")} onClick={() => {
          setDraft(text);
          setEditing(true);
        }}><Icon name="edit" /></button>
      )}
    </div>
  );
}

function Versions({ turn, busy, restore }: { turn: Turn; busy: boolean; restore: (questionId: string) => void }) {
  const at = turn.versions.indexOf(turn.questionId);
  const [before, next] = [turn.versions[at - 1], turn.versions[at + 1]];
  return (
    <div class="versions" role="group" aria-label={t("answer.versions")} id={versionsId(turn.questionId)}>
      <button type="button" class="plain" disabled={busy || !before} aria-label={t("answer.version.before")} title={t("answer.version.before")} onClick={() => before && restore(before)}><Icon name="left" /></button>
      <span class="quiet">{t("answer.version", { n: number(at + 1), all: number(turn.versions.length) })}</span>
      <button type="button" class="plain" disabled={busy || !next} aria-label={t("answer.version.next")} title={t("answer.version.next")} onClick={() => next && restore(next)}><Icon name="right" /></button>
    </div>
  );
}

/** The element in which one chooses between the versions of a question. */
export const versionsId = (questionId: string) => `versions-${questionId}`;

interface ActionsProps extends Pick<Props, "turn" | "conversation" | "again" | "busy"> {
  answer: AnswerMessage;
}

function Actions({ turn, answer, conversation, again, busy }: ActionsProps) {
  const given = rated(answer.id);
  // Words are asked for after a click only, not where a verdict of before is shown.
  const [asking, setAsking] = useState(false);
  const [commented, setCommented] = useState(false);
  const [copied, setCopied] = useState(false);
  const comment = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (asking) comment.current?.focus();
  }, [asking, given]);
  const judge = async (rating: Rating) => {
    const wanted = rating === given ? undefined : rating;
    if (!(await rate(answer.id, 0, wanted))) return;
    setAsking(wanted !== undefined);
    setCommented(false);
  };
  const text = withFootnotes(answer.text, answer.citations);
  const seconds = turn.seconds ?? 0;
  return (
    <>
      <div class="actions">
        <button type="button" class="plain" aria-pressed={given === "RATING_UP"} aria-label={t("answer.up")} title={t("answer.up")} onClick={() => judge("RATING_UP")}><Icon name="up" /></button>
        <button type="button" class="plain" aria-pressed={given === "RATING_DOWN"} aria-label={t("answer.down")} title={t("answer.down")} onClick={() => judge("RATING_DOWN")}><Icon name="down" /></button>
        <button type="button" class="plain" aria-label={t("answer.copy")} title={t("answer.copy")} onClick={async () => {
          if (!(await attempt(() => copy(text)))) return;
          setCopied(true);
          announced.value = t("answer.copied");
        }}><Icon name="copy" />{copied && <span>{t("answer.copied")}</span>}</button>
        <button type="button" class="plain" aria-label={t("answer.export")} title={t("answer.export")} onClick={() => keep(new Blob([`# ${turn.question}\n\n${text}`], { type: "text/markdown" }), "answer.md")}><Icon name="save" /></button>
        <button type="button" class="plain" aria-label={t("answer.print")} title={t("answer.print")} onClick={(event) => printed(event.currentTarget.closest(".turn")!)}><Icon name="print" /></button>
        <button type="button" class="plain" aria-label={t("answer.again")} title={t("answer.again")} disabled={busy} onClick={again}><Icon name="again" /></button>
        {conversation && <Share conversation={conversation} answer={answer.id} busy={busy} key={answer.id} />}
        <span class="quiet made-by">
          {[isolate(`${answer.provider}/${answer.model}`), seconds >= 0.05 && t("answer.seconds", { seconds: number(seconds, 1) })].filter(Boolean).join(" · ")}
        </span>
      </div>
      {asking && given && !commented && (
        <form class="comment" onSubmit={async (event) => {
          event.preventDefault();
          const words = comment.current?.value.trim();
          if (!words || (await rate(answer.id, 0, given, words))) setCommented(true);
        }}>
          <input type="text" dir="auto" ref={comment} maxLength={2000} aria-label={t("answer.comment")} placeholder={t("answer.comment")} />
          <button>{t("answer.comment.send")}</button>
        </form>
      )}
      {commented && <p class="quiet">{t("answer.thanks")}</p>}
    </>
  );
}

/** Print one question with its answer and its footnotes: the style sheet leaves out what is not marked. */
function printed(turn: Element): void {
  turn.classList.add("printed");
  addEventListener("afterprint", () => turn.classList.remove("printed"), { once: true });
  print();
}

function Sources({ turn }: { turn: Turn }) {
  const cited = shownNumbers(turn.answer?.citations ?? []);
  // Those that the answer cites come first, by the numbers of its footnotes; the others follow in the prompt's order.
  const order = [...turn.sources].sort((a, b) => (cited.get(a.number) ?? Infinity) - (cited.get(b.number) ?? Infinity) || a.number - b.number);
  const left = turn.plan?.entries.filter((one) => one.decision === "TOKEN_DECISION_DROPPED") ?? [];
  const reasons = [...new Set(left.map((one) => named("token", one.reason)))].join(", ");
  const decided = (number: number) => turn.plan?.entries.find((one) => one.number === number);
  return (
    <details class="sources">
      <summary>{t("answer.sources", { n: turn.sources.length })}</summary>
      <ol>
        {order.map((source, index) => {
          const entry = decided(source.number);
          return (
            <li value={index + 1} class={cited.has(source.number) ? "cited" : ""}>
              <button type="button" class="source" onClick={() => show({
                documentId: source.document_id, filename: source.filename, mimeType: source.mime_type, source, answerId: turn.answer?.id,
              })}>
                <span class="source-label" dir="auto">{source.label}</span>
                <span class="quiet">
                  {[
                    cited.has(source.number) && t("answer.cited"),
                    t("answer.score", { score: number(source.score, 2) }),
                    isolate(source.collection),
                    entry && entry.reason !== "TOKEN_REASON_UNSPECIFIED" && named("token", entry.reason),
                  ].filter(Boolean).join(" · ")}
                </span>
                <span class="source-text" dir="auto">{source.text}</span>
              </button>
              {source.suspicion >= 0.5 && <p class="notice">{t("answer.suspicious")}</p>}
            </li>
          );
        })}
      </ol>
      {left.length > 0 && <p class="quiet">{t("answer.dropped", { n: left.length, reasons })}</p>}
    </details>
  );
}
