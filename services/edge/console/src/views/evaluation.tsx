// Runs of golden questions, as `footnote eval answers --out` writes them: their grades, and what changed. The files stay in the browser.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { announced } from "../state";
import { isolate, named, number, t } from "../strings";

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
  name: string;
  questions: string;
  answers: Map<string, Answered>;
}

const runs = signal<Run[]>([]);

/** Return the runs of a file; throws where it is none. */
function runsOf(text: string, file: string): Run[] {
  const whole = JSON.parse(text) as { questions?: unknown; runs: { name: unknown; answers: Record<string, Record<string, unknown>> }[] };
  return whole.runs.map((one) => ({
    name: `${file} · ${String(one.name)}`,
    questions: String(whole.questions ?? ""),
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

export function Evaluation() {
  const [wrong, setWrong] = useState("");
  const [before, setBefore] = useState(0);
  const [after, setAfter] = useState(0);
  const [changed, setChanged] = useState(false);
  const open = async (files: FileList) => {
    setWrong("");
    for (const file of files) {
      try {
        if (file.size > MOST) throw new Error("too large");
        const found = runsOf(await file.text(), file.name);
        runs.value = [...runs.value, ...found];
      } catch {
        setWrong(t("eval.unread", { filename: file.name }));
      }
    }
    setBefore(Math.max(runs.value.length - 2, 0));
    setAfter(runs.value.length - 1);
    announced.value = t("eval.runs", { n: runs.value.length });
  };
  const [old, now] = [runs.value[before], runs.value[after]];
  const choice = (label: string, value: number, set: (value: number) => void) => (
    <label class="inline-field">{label}
      <select value={value} onChange={(event) => set(Number(event.currentTarget.value))}>
        {runs.value.map((one, index) => <option value={index}>{one.name}</option>)}
      </select>
    </label>
  );
  return (
    <div class="page evaluation">
      <h1>{t("nav.evaluation")}</h1>
      <p class="quiet">{t("eval.lead")}</p>
      <pre class="query" dir="ltr"><code>footnote eval answers golden.jsonl --collection NAME --out run.json</code></pre>
      <label class="button">{t("eval.open")}
        <input type="file" class="hidden" accept=".json,application/json" multiple onChange={(event) => {
          const input = event.currentTarget;
          void open(input.files!).then(() => { input.value = ""; });
        }} />
      </label>
      {wrong && <p class="problem" role="alert">{wrong}</p>}
      {now && old && (
        <>
          <div class="row filters">
            {choice(t("eval.before"), before, setBefore)}
            {choice(t("eval.after"), after, setAfter)}
            <label class="check"><input type="checkbox" checked={changed} onChange={(event) => setChanged(event.currentTarget.checked)} /> {t("eval.changed")}</label>
          </div>
          <Figures old={old} now={now} />
          <Questions old={old} now={now} changed={changed} />
        </>
      )}
    </div>
  );
}

function Figures({ old, now }: { old: Run; now: Run }) {
  const count = (run: Run, grade: Grade) => [...run.answers.values()].filter((one) => one.outcome === grade).length;
  const moves = [...now.answers].map(([id, one]) => moved(old.answers.get(id), one));
  return (
    <>
      <p>{t("eval.moved", { better: number(moves.filter((one) => one > 0).length), worse: number(moves.filter((one) => one < 0).length), all: number(now.answers.size) })}</p>
      <div class="grid" tabIndex={0} role="region" aria-label={t("eval.grades")}>
        <table>
          <thead><tr><th scope="col">{t("eval.grades")}</th><th scope="col">{t("eval.before")}</th><th scope="col">{t("eval.after")}</th></tr></thead>
          <tbody>{GRADES.map((one) => <tr><th scope="row">{named("grade", one)}</th><td>{number(count(old, one))}</td><td>{number(count(now, one))}</td></tr>)}</tbody>
        </table>
      </div>
    </>
  );
}

/** More than 0 where an answer is better than the one before, less where it is worse. */
const moved = (before: Answered | undefined, after: Answered) => (before ? WORTH[after.outcome] - WORTH[before.outcome] : 0);

function Questions({ old, now, changed }: { old: Run; now: Run; changed: boolean }) {
  const shown = [...now.answers].filter(([id, one]) => !changed || old.answers.get(id)?.outcome !== one.outcome);
  return (
    <ul class="list">
      {shown.map(([id, one]) => {
        const before = old.answers.get(id);
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
              <details>
                <summary>{t("ask.answer")}</summary>
                {one.error && <p class="problem" dir="auto">{one.error}</p>}
                <p dir="auto" class="said">{one.text}</p>
                {one.labels.length > 0 && <p class="quiet" dir="auto">{one.labels.join(" · ")}</p>}
                {before && before.text !== one.text && <><h3>{t("eval.before")}</h3><p dir="auto" class="said">{before.text}</p></>}
              </details>
            </div>
          </li>
        );
      })}
    </ul>
  );
}
