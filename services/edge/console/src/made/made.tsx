// How an answer was made: what it came of, the way through the services, the prompt's tokens, and the same made again.
import { useState } from "preact/hooks";
import { Problem, call, get } from "../api/client";
import type {
  AnswerManifest, GetAnswerManifestResponse, GetAnswerResponse, GetTraceResponse, ReplayAnswerResponse, Source, TokenPlan,
} from "../api/types";
import { Failure, type Fault, faultOf } from "../parts/failure";
import { useLoaded } from "../parts/load";
import { announced, titleAt } from "../state";
import { number, t } from "../strings";
import { Differences } from "./differences";
import { Plan } from "./plan";
import { type Step, stepsOf } from "./steps";

interface Found {
  manifest: AnswerManifest | undefined;
  steps: Step[];
  missing: string[];
}

async function read(id: string, stop: AbortSignal): Promise<Found> {
  const path = `/v1/answers/${encodeURIComponent(id)}`;
  const [answer, made] = await Promise.all([get<GetAnswerResponse>(path, stop), get<GetAnswerManifestResponse>(`${path}/manifest`, stop)]);
  const trace = await get<GetTraceResponse>(`/v1/traces/${answer.trace_id}`, stop).catch((error) => {
    // Services keep the last traces only, and none over a restart.
    if (error instanceof Problem && error.status === 404) return { spans: [], missing: [] };
    throw error;
  });
  return { manifest: made.manifest, steps: stepsOf(trace.spans), missing: trace.missing };
}

export function Made({ answerId, sources, plan }: { answerId: string; sources: Source[]; plan: TokenPlan | undefined }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="made" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t("made.title")}</summary>
      {open && <Inside answerId={answerId} sources={sources} plan={plan} />}
    </details>
  );
}

function Inside({ answerId, sources, plan }: { answerId: string; sources: Source[]; plan: TokenPlan | undefined }) {
  const { value, fault, again } = useLoaded((stop) => read(answerId, stop), [answerId]);
  const [replay, setReplay] = useState<ReplayAnswerResponse | null>(null);
  const [failed, setFailed] = useState<Fault | null>(null);
  const [busy, setBusy] = useState(false);
  const repeat = async () => {
    setBusy(true);
    setFailed(null);
    try {
      const path = `/v1/answers/${encodeURIComponent(answerId)}:replay`;
      const body = { include: ["ANSWER_PART_TOKEN_PLAN", "ANSWER_PART_SOURCES"] };
      const made = await call<ReplayAnswerResponse>("POST", path, body);
      setReplay(made);
      announced.value = made.identical ? t("made.same") : t("made.differs", { n: made.differences.length });
    } catch (error) {
      setFailed(faultOf(error));
    }
    setBusy(false);
  };
  if (fault) return <Failure fault={fault} again={again} />;
  if (!value) return <p class="quiet">{t("loading")}</p>;
  const drawn = plan ?? replay?.completed?.token_plan;
  return (
    <>
      {value.manifest && <Facts manifest={value.manifest} />}
      <h3>{t("made.way")}</h3>
      {value.steps.length ? <Waterfall steps={value.steps} /> : <p class="quiet">{t("made.notrace")}</p>}
      {value.missing.length > 0 && <p class="notice">{t("made.missing", { services: value.missing.join(", ") })}</p>}
      <h3>{t("made.plan")}</h3>
      {drawn ? <Plan plan={drawn} sources={plan ? sources : replay?.completed?.sources ?? []} again={!plan} /> : <p class="quiet">{t("made.noplan")}</p>}
      <h3>{t("made.again")}</h3>
      <p class="quiet">{t("made.again.lead")}</p>
      <button type="button" disabled={busy} onClick={repeat}>{busy ? t("made.again.busy") : t("made.again.go")}</button>
      {failed && <Failure fault={failed} />}
      {replay && <Differences replay={replay} />}
    </>
  );
}

function Facts({ manifest }: { manifest: AnswerManifest }) {
  const facts: [string, string][] = [
    [t("made.query"), manifest.query],
    [t("made.collections"), manifest.collections.map(titleAt).join(", ") || t("ask.everywhere")],
    [t("made.model"), `${manifest.provider}/${manifest.model}`],
    [t("made.template"), manifest.template_version],
    [t("made.hash"), manifest.prompt_hash.slice(0, 12)],
  ];
  return <dl class="pairs">{facts.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd><bdi>{value}</bdi></dd></div>)}</dl>;
}

function Waterfall({ steps }: { steps: Step[] }) {
  const whole = Math.max(...steps.map((one) => one.start + one.took), 1);
  const part = (value: number) => (value / whole) * 1000;
  return (
    <ol class="waterfall">
      {steps.map((one) => (
        <li key={one.id} class={one.error ? "failed" : ""}>
          <span class="step-service"><bdi>{one.service}</bdi></span>
          <span class="step-name" data-depth={Math.min(one.depth, 4)}><bdi>{one.name}</bdi>{one.error && <span class="problem" dir="auto"> {one.error}</span>}</span>
          <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
            <rect class="track" width="1000" height="10" /><rect class="span" x={part(one.start)} width={Math.max(part(one.took), 3)} height="10" />
          </svg>
          <span class="step-time"><span class="hidden">{t("made.after", { ms: number(one.start) })} </span>{t("made.took", { ms: number(one.took, one.took < 10 ? 1 : 0) })}</span>
        </li>
      ))}
    </ol>
  );
}
