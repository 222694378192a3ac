// Where the prompt's tokens went: a bar of the sources in it, and a line for each candidate.
import type { Source, TokenPlan } from "../api/types";
import { isolate, named, number, t } from "../strings";

export function Plan({ plan, sources, again }: { plan: TokenPlan; sources: Source[]; again: boolean }) {
  const labels = new Map(sources.map((one) => [one.number, one.label]));
  const whole = Math.max(plan.budget, plan.used, 1);
  const kept = plan.entries.filter((one) => one.tokens_used > 0);
  let taken = 0;
  return (
    <div class="plan">
      {again && <p class="quiet">{t("made.plan.again")}</p>}
      <svg viewBox="0 0 1000 24" preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" width="1000" height="24" />
        {kept.map((one) => {
          const x = (taken / whole) * 1000;
          taken += one.tokens_used;
          return <rect key={one.chunk_id} class={one.decision === "TOKEN_DECISION_CUT" ? "part cut" : "part"} x={x} width={Math.max((one.tokens_used / whole) * 1000 - 3, 1)} height="24" />;
        })}
      </svg>
      <p>{t("made.plan.used", { used: number(plan.used), budget: number(plan.budget), prompt: number(plan.prompt_tokens), tokenizer: plan.tokenizer })}</p>
      <ul class="entries">
        {plan.entries.map((one) => (
          <li key={one.chunk_id}>
            <span>{one.number ? `[${one.number}] ${isolate(labels.get(one.number) ?? "")}` : t("made.plan.out")}</span>
            <span class="quiet">
              {t("made.plan.tokens", { n: number(one.number ? one.tokens_used : one.tokens) })}
              {one.reason !== "TOKEN_REASON_UNSPECIFIED" && ` · ${named("token", one.reason)}`}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
