// What was done over time, for administrators: searches, their times, verdicts, ratings, tokens, cost.
import { useState } from "preact/hooks";
import { get } from "../api/client";
import type { ActivityHour, GetActivityResponse } from "../api/types";
import { type Bar, Chart } from "../parts/chart";
import { Failure } from "../parts/failure";
import { useLoaded } from "../parts/load";
import { day, hour, named, number, t } from "../strings";

/** How far back one looks, in hours, and how many hours a bar stands for. */
const RANGES = [{ hours: 24, bar: 1 }, { hours: 168, bar: 6 }, { hours: 744, bar: 24 }] as const;
const CLAIMS = ["claims_supported", "claims_not_confirmed", "claims_unsupported", "claims_uncited"] as const;
const LOOKS = ["good", "weak", "bad", "none"] as const;

/** Return the hours in groups of so many, the last one whole. */
function grouped(hours: ActivityHour[], size: number): ActivityHour[][] {
  const groups: ActivityHour[][] = [];
  for (let end = hours.length; end > 0; end -= size) groups.unshift(hours.slice(Math.max(0, end - size), end));
  return groups;
}

const sum = (hours: ActivityHour[], of: (hour: ActivityHour) => string) => hours.reduce((all, one) => all + Number(of(one)), 0);

/** Return which step a share of all searches stays within, counted from 1; 0 where there were none. */
function within(hours: ActivityHour[], share: number, steps: number): number {
  const counts = Array.from({ length: steps }, (_, step) => sum(hours, (one) => one.searches_by_time[step] ?? "0"));
  const all = counts.reduce((one, other) => one + other, 0);
  let seen = 0;
  return all === 0 ? 0 : counts.findIndex((count) => (seen += count) >= all * share) + 1;
}

export function Activity() {
  const [range, setRange] = useState<number>(24);
  const { value, fault, again } = useLoaded((stop) => get<GetActivityResponse>(`/v1/activity?hours=${range}`, stop), [range]);
  return (
    <section>
      <div class="row">
        <h2>{t("activity.title")}</h2>
        <span class="space" />
        <label class="inline-field">{t("activity.range")}
          <select value={range} onChange={(event) => setRange(Number(event.currentTarget.value))}>
            {RANGES.map(({ hours }) => <option value={hours}>{t(`activity.${hours}`)}</option>)}
          </select>
        </label>
      </div>
      {fault && <Failure fault={fault} again={again} />}
      {!value && !fault && <p class="quiet">{t("loading")}</p>}
      {value && <Charts found={value} />}
    </section>
  );
}

function Charts({ found }: { found: GetActivityResponse }) {
  const size = RANGES.find((one) => one.hours === found.hours.length)?.bar ?? 1;
  const groups = grouped(found.hours, size);
  const label = (hours: ActivityHour[]) => (size === 24 ? day : hour)(hours[0]!.start_time!);
  const over = (values: (hours: ActivityHour[]) => number[]): Bar[] => groups.map((hours) => ({ label: label(hours), values: values(hours) }));
  const bounds = found.search_bounds.map((one) => Number.parseFloat(one) * 1000);
  const took = (step: number) => step === 0 ? t("none") : step > bounds.length ? t("activity.longer", { ms: number(bounds.at(-1)!) }) : t("activity.within", { ms: number(bounds[step - 1]!) });
  const searches = sum(found.hours, (one) => one.searches);
  const without = sum(found.hours, (one) => one.searches_without_passage);
  const percent = (share: number) => t("activity.percent", { n: number(share * 100, share > 0 && share < 0.1 ? 1 : 0) });
  const claims = sum(found.hours, (one) => String(CLAIMS.reduce((all, name) => all + Number(one[name]), 0)));
  const days = (of: (one: GetActivityResponse["days"][number]) => number): Bar[] => found.days.map((one) => ({ label: day(one.start_time!, "UTC"), values: [of(one)] }));
  const nothing = t("activity.nothing");
  return (
    <div class="charts">
      <Chart title={t("activity.searches")} series={[{ name: t("activity.searches"), look: "good" }]} nothing={nothing} summary={number(searches)}
        bars={over((hours) => [sum(hours, (one) => one.searches)])} />
      <Chart title={t("activity.times")} before nothing={nothing} say={took} summary={took(within(found.hours, 0.5, bounds.length + 1))}
        series={[{ name: t("activity.most"), look: "soft" }, { name: t("activity.half"), look: "good" }]}
        bars={over((hours) => [within(hours, 0.95, bounds.length + 1), within(hours, 0.5, bounds.length + 1)])} />
      <Chart title={t("activity.without")} series={[{ name: t("activity.share"), look: "weak" }]} nothing={searches ? t("activity.allfound") : nothing} say={percent}
        summary={percent(searches ? without / searches : 0)}
        bars={over((hours) => [sum(hours, (one) => one.searches_without_passage) / Math.max(1, sum(hours, (one) => one.searches))])} />
      <Chart title={t("activity.verdicts")} series={CLAIMS.map((name, index) => ({ name: named("verdict", `VERDICT_${name.slice(7).toUpperCase()}`), look: LOOKS[index]! }))} nothing={nothing}
        summary={claims ? t("activity.borne", { percent: percent(sum(found.hours, (one) => one.claims_supported) / claims) }) : ""}
        bars={over((hours) => CLAIMS.map((name) => sum(hours, (one) => one[name])))} />
      <Chart title={t("activity.ratings")} series={[{ name: t("overview.helpful"), look: "good" }, { name: t("overview.unhelpful"), look: "bad" }]} nothing={nothing}
        bars={over((hours) => [sum(hours, (one) => one.ratings_up), sum(hours, (one) => one.ratings_down)])} />
      <Chart title={t("activity.tokens")} series={[{ name: t("activity.tokens"), look: "good" }]} nothing={nothing} summary={number(found.days.reduce((all, one) => all + Number(one.tokens), 0))}
        bars={days((one) => Number(one.tokens))} />
      <Chart title={t("activity.cost")} series={[{ name: t("activity.cost"), look: "good" }]} nothing={t("activity.free")} say={(cost) => number(cost, 2)}
        summary={number(found.days.reduce((all, one) => all + one.cost_usd, 0), 2)} bars={days((one) => one.cost_usd)} />
    </div>
  );
}
