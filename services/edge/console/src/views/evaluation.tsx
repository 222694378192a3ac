// Runs of golden questions: those that a collection keeps, and files of `footnote eval answers --out`, which stay in the browser. Their grades, and what changed.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, get } from "../api/client";
import { key } from "../api/session";
import type { EvaluationGrade, EvaluationRun, GetEvaluationRunResponse, ListEvaluationRunsResponse } from "../api/types";
import { Confirm } from "../parts/confirm";
import { Failure, type Fault, attempt, faultOf } from "../parts/failure";
import { announced, collectionAt, collections, titleOf, uniqueName } from "../state";
import { date, isolate, named, number, t } from "../strings";

/** Bytes of a file that are read at most. */
const MOST = 50_000_000;
const GRADES = ["right", "part", "refused rightly", "refused wrongly", "wrong", "failed"] as const;
type Grade = (typeof GRADES)[number];
/** How good a grade is, as the command compares them: wrong, refused, part, right. */
const WORTH: Record<Grade, number> = { right: 3, "refused rightly": 3, part: 2, "refused wrongly": 1, wrong: 0, failed: 0 };
const GOOD: Grade[] = ["right", "refused rightly"];

interface Answered {
  question: string;
  outcome: Grade;
  text: string;
  missing: string[];
  labels: string[];
  error: string;
}

interface Run {
  /** The server's id of one that is kept; the name of one of a file. */
  id: string;
  name: string;
  answers: Map<string, Answered>;
}

/** Two runs that are compared. */
interface Pair {
  old: Run;
  now: Run;
}

/** Runs of files, oldest first. They outlive the view, not the sign-in. */
const files = signal<Run[]>([]);
key.subscribe(() => { files.value = []; });

/** Return the last of some runs, oldest first, with the one before it: what is compared where no run is chosen. */
function lastTwo(runs: Run[]): Pair | null {
  const now = runs.at(-1);
  return now ? { old: runs.at(-2) ?? now, now } : null;
}

const OF_GRADE: Partial<Record<EvaluationGrade, Grade>> = {
  EVALUATION_GRADE_RIGHT: "right",
  EVALUATION_GRADE_PART: "part",
  EVALUATION_GRADE_REFUSED_RIGHTLY: "refused rightly",
  EVALUATION_GRADE_REFUSED_WRONGLY: "refused wrongly",
  EVALUATION_GRADE_WRONG: "wrong",
};

/** Return a run as the server keeps it: questions and grades, no answers. */
function keptRun(run: EvaluationRun): Run {
  return {
    id: run.id, name: nameOf(run),
    answers: new Map(run.questions.map((one) => [one.id, {
      question: one.question, outcome: OF_GRADE[one.grade] ?? "failed", text: "", missing: [], labels: [], error: "",
    }])),
  };
}

const nameOf = (run: EvaluationRun) => [date(run.create_time!), run.label, run.filename].filter(Boolean).map(isolate).join(" · ");

/** Return the runs of a file; throws where it is none. */
function runsOf(text: string, file: string): Run[] {
  const whole = JSON.parse(text) as { questions?: unknown; runs: { name: unknown; answers: Record<string, Record<string, unknown>> }[] };
  return whole.runs.map((one) => ({
    id: `${file} · ${String(one.name)}`,
    name: `${file} · ${String(one.name)}`,
    answers: new Map(Object.entries(one.answers).map(([id, said]) => {
      if (!GRADES.includes(said.outcome as Grade)) throw new Error("no grade");
      const list = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
      return [id, {
        question: String(said.question ?? id), outcome: said.outcome as Grade, text: String(said.text ?? ""),
        missing: list(said.missing), labels: list(said.labels), error: String(said.error ?? ""),
      }];
    })),
  }));
}

/** Return a collection's name, which has no quotes, as a word of a shell's command. */
const quoted = (name: string) => (/^\w[\w.-]*$/.test(name) ? name : `'${name}'`);

export function Evaluation() {
  const [wrong, setWrong] = useState("");
  const [fault, setFault] = useState<Fault | null>(null);
  const [picked, setPicked] = useState("");
  const mine = collectionAt(picked) ?? collections.value[0];
  const collection = mine ? uniqueName(mine) : "";
  const latest = useRef(collection);
  latest.current = collection;
  /** Runs of the collection, newest first; null until they are read. */
  const [kept, setKept] = useState<EvaluationRun[] | null>(null);
  const [round, setRound] = useState(0);
  const [pair, setPair] = useState(() => lastTwo(files.value));
  const [changed, setChanged] = useState(false);
  const loaded = async (id: string) => files.value.find((one) => one.id === id) ?? keptRun((await get<GetEvaluationRunResponse>(`/v1/evaluations/${encodeURIComponent(id)}`)).run!);
  const load = async (stop: AbortSignal) => {
    setFault(null);
    const { runs } = await get<ListEvaluationRunsResponse>(`/v1/collections/${encodeURIComponent(collection)}/evaluations`, stop);
    // A collection may keep runs of several files of questions, whose ids may be the same.
    const before = runs.find((one, at) => at > 0 && one.filename === runs[0]!.filename);
    const newest = files.value.length ? [] : await Promise.all([before, runs[0]].flatMap((one) => (one ? [loaded(one.id)] : [])));
    if (stop.aborted) return;
    setKept(runs);
    setPair((one) => one ?? lastTwo(newest));
  };
  // Runs of one collection must not stand under another's name, not even where the other's cannot be read.
  useEffect(() => {
    setKept(null);
    setPair(lastTwo(files.value));
  }, [collection]);
  useEffect(() => {
    const control = new AbortController();
    if (collection) load(control.signal).catch((error) => control.signal.aborted || setFault(faultOf(error)));
    return () => control.abort();
  }, [collection, round]);
  const open = async (chosen: FileList) => {
    setWrong("");
    for (const file of chosen) {
      try {
        if (file.size > MOST) throw new Error("too large");
        const found = runsOf(await file.text(), file.name);
        files.value = [...files.value.filter((one) => !found.some(({ id }) => id === one.id)), ...found];
      } catch {
        setWrong(t("eval.unread", { filename: file.name }));
      }
    }
    const last = files.value.at(-1);
    if (last) setPair((one) => ({ old: files.value.at(-2) ?? (one?.now.id === last.id ? one.old : one?.now) ?? last, now: last }));
    announced.value = t("eval.runs", { n: files.value.length });
  };
  const remove = async (run: EvaluationRun) => {
    await attempt(async () => {
      await call("DELETE", `/v1/evaluations/${encodeURIComponent(run.id)}`);
      setKept((all) => all && all.filter((one) => one.id !== run.id));
      setPair((one) => (one?.old.id === run.id || one?.now.id === run.id ? lastTwo(files.value) : one));
      setRound((one) => one + 1);
    });
  };
  const choose = (side: keyof Pair, id: string) => attempt(async () => {
    const run = await loaded(id);
    if (latest.current === collection) setPair((one) => one && { ...one, [side]: run });
  });
  const names = [...(kept ?? []).map((one) => ({ id: one.id, name: nameOf(one) })), ...files.value];
  const choice = (label: string, value: Run, side: keyof Pair) => (
    <label class="inline-field">{label}
      <select value={value.id} onChange={({ currentTarget }) => void choose(side, currentTarget.value)}>
        {names.map((one) => <option value={one.id}>{one.name}</option>)}
      </select>
    </label>
  );
  return (
    <div class="page evaluation">
      <h1>{t("nav.evaluation")}</h1>
      <p class="quiet">{t("eval.lead")}</p>
      <pre class="query" dir="ltr"><code>footnote eval answers golden.jsonl --collection {collection ? quoted(collection) : "NAME"} --save</code></pre>
      <div class="row filters">
        {collections.value.length > 0 && (
          <label class="inline-field">{t("eval.collection")}
            <select value={collection} onChange={(event) => setPicked(event.currentTarget.value)}>
              {collections.value.map((one) => <option value={uniqueName(one)}>{isolate(titleOf(one))}</option>)}
            </select>
          </label>
        )}
        <label class="button">{t("eval.open")}
          <input type="file" class="hidden" accept=".json,application/json" multiple onChange={(event) => {
            const input = event.currentTarget;
            void open(input.files!).then(() => { input.value = ""; });
          }} />
        </label>
      </div>
      {fault && <Failure fault={fault} />}
      {wrong && <p class="problem" role="alert">{wrong}</p>}
      {kept && <Kept runs={kept} remove={mine?.may_write ? remove : undefined} />}
      {pair && (
        <>
          <h2>{t("eval.compared")}</h2>
          <div class="row filters">
            {choice(t("eval.before"), pair.old, "old")}
            {choice(t("eval.after"), pair.now, "now")}
            <label class="check"><input type="checkbox" checked={changed} onChange={(event) => setChanged(event.currentTarget.checked)} /> {t("eval.changed")}</label>
          </div>
          <Figures {...pair} />
          <Questions {...pair} changed={changed} />
        </>
      )}
    </div>
  );
}

/** The last runs of a collection, with how many answers were good. */
function Kept({ runs, remove }: { runs: EvaluationRun[]; remove: ((run: EvaluationRun) => Promise<void>) | undefined }) {
  if (!runs.length) return <p class="quiet">{t("eval.kept.none")}</p>;
  return (
    <details class="kept-runs" open={runs.length <= 10}>
      <summary>{t("eval.kept", { n: number(runs.length) })}</summary>
      <ul class="list">
        {runs.map((run) => {
          const of = (wanted: (grade: Grade) => boolean) => run.counts.filter((one) => wanted(OF_GRADE[one.grade] ?? "failed")).reduce((sum, one) => sum + one.count, 0);
          return (
            <li key={run.id}>
              <div class="item-main">
                <span class="item-name">{nameOf(run)}</span>
                <span class="quiet facts"><span>{t("eval.good", { n: number(of((grade) => GOOD.includes(grade))), all: number(of(() => true)) })}</span><span><bdi>{run.user_id}</bdi></span></span>
              </div>
              {remove && <div class="item-actions"><Confirm label={t("eval.remove")} about={nameOf(run)} sure={t("delete.sure")} act={() => remove(run)} /></div>}
            </li>
          );
        })}
      </ul>
    </details>
  );
}

function Figures({ old, now }: Pair) {
  const count = (run: Run, grade: Grade) => [...run.answers.values()].filter((one) => one.outcome === grade).length;
  const shared = [...now.answers].flatMap(([id, one]) => {
    const before = beforeOf(old, id, one);
    return before ? [moved(before, one)] : [];
  });
  return (
    <>
      <p>{t("eval.moved", { better: number(shared.filter((one) => one > 0).length), worse: number(shared.filter((one) => one < 0).length), all: number(shared.length) })}</p>
      <div class="grid" tabIndex={0} role="region" aria-label={t("eval.grades")}>
        <table>
          <thead><tr><th scope="col">{t("eval.grades")}</th><th scope="col">{t("eval.before")}</th><th scope="col">{t("eval.after")}</th></tr></thead>
          <tbody>{GRADES.map((one) => <tr><th scope="row">{named("grade", one)}</th><td>{number(count(old, one))}</td><td>{number(count(now, one))}</td></tr>)}</tbody>
        </table>
      </div>
    </>
  );
}

/** Return the answer of a run to the same question: an id alone may be that of another file's. */
function beforeOf(old: Run, id: string, { question }: Answered): Answered | undefined {
  const before = old.answers.get(id);
  return before?.question === question ? before : undefined;
}

/** More than 0 where an answer is better than the one before, less where it is worse. */
const moved = (before: Answered | undefined, after: Answered) => (before ? WORTH[after.outcome] - WORTH[before.outcome] : 0);

function Questions({ old, now, changed }: Pair & { changed: boolean }) {
  const shown = [...now.answers].filter(([id, one]) => !changed || beforeOf(old, id, one)?.outcome !== one.outcome);
  return (
    <ul class="list">
      {shown.map(([id, one]) => {
        const before = beforeOf(old, id, one);
        const way = moved(before, one);
        return (
          <li key={id}>
            <div class="item-main">
              <span class="item-name" dir="auto">{one.question}</span>
              <span class="facts">
                {before && before.outcome !== one.outcome && <><s class="quiet">{named("grade", before.outcome)}</s> </>}
                <span class={`state ${GOOD.includes(one.outcome) ? "good" : WORTH[one.outcome] === 0 ? "bad" : ""}`}>{named("grade", one.outcome)}</span>
                {way !== 0 && <strong>{t(way > 0 ? "eval.better" : "eval.worse")}</strong>}
                {one.missing.length > 0 && <span class="quiet">{t("eval.missing", { words: isolate(one.missing.join(" · ")) })}</span>}
              </span>
              {(one.text || one.error || before?.text) && <details>
                <summary>{t("ask.answer")}</summary>
                {one.error && <p class="problem" dir="auto">{one.error}</p>}
                <p dir="auto" class="said">{one.text}</p>
                {one.labels.length > 0 && <p class="quiet" dir="auto">{one.labels.join(" · ")}</p>}
                {before && before.text !== one.text && <><h3>{t("eval.before")}</h3><p dir="auto" class="said">{before.text}</p></>}
              </details>}
            </div>
          </li>
        );
      })}
    </ul>
  );
}
