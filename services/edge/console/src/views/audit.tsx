// The audit log of the tenant, for administrators: who did what, how it ended, the newest first.
import { useState } from "preact/hooks";
import { fetched, get } from "../api/client";
import type { AuditEvent, AuditOutcome, ListAuditEventsResponse } from "../api/types";
import { Failure, attempt } from "../parts/failure";
import { useLoaded } from "../parts/load";
import { date, named, number, t } from "../strings";
import { keep } from "../viewer/viewer";

const PAGE = 100;
const OUTCOMES: AuditOutcome[] = ["AUDIT_OUTCOME_SUCCEEDED", "AUDIT_OUTCOME_REFUSED", "AUDIT_OUTCOME_FAILED"];
const LOOKS: Partial<Record<AuditOutcome, string>> = { AUDIT_OUTCOME_SUCCEEDED: "good", AUDIT_OUTCOME_REFUSED: "bad", AUDIT_OUTCOME_FAILED: "bad" };

interface Sought {
  user_id: string;
  action: string;
  outcome: string;
}

export function Audit() {
  const [sought, setSought] = useState<Sought>({ user_id: "", action: "", outcome: "" });
  const [pages, setPages] = useState(1);
  const { value, fault, again } = useLoaded((stop) => read(sought, pages, stop), [sought, pages]);
  const change = (to: Partial<Sought>) => {
    setSought({ ...sought, ...to });
    setPages(1);
  };
  return (
    <div class="page">
      <div class="row head">
        <h1>{t("nav.audit")}</h1>
        <span class="space" />
        <button type="button" onClick={() => attempt(async () => keep(await fetched(`/v1/audit/events.jsonl?${given(sought)}`), "audit.jsonl"))}>{t("audit.export")}</button>
      </div>
      <div class="row filters">
        <input type="search" maxLength={256} aria-label={t("audit.user")} placeholder={t("audit.user")} value={sought.user_id} onChange={(event) => change({ user_id: event.currentTarget.value.trim() })} />
        <input type="search" maxLength={100} aria-label={t("audit.action")} placeholder={t("audit.action")} value={sought.action} onChange={(event) => change({ action: event.currentTarget.value.trim() })} />
        <select aria-label={t("audit.outcome")} value={sought.outcome} onChange={(event) => change({ outcome: event.currentTarget.value })}>
          <option value="">{t("audit.all")}</option>
          {OUTCOMES.map((one) => <option value={one}>{named("audit", one)}</option>)}
        </select>
      </div>
      {fault && <Failure fault={fault} again={again} />}
      {!value && !fault && <p class="quiet">{t("loading")}</p>}
      {value?.found.length === 0 && <p class="quiet">{t("audit.none")}</p>}
      <ul class="list">{value?.found.map((one) => <One key={one.id} event={one} />)}</ul>
      {value?.more && <button type="button" onClick={() => setPages(pages + 1)}>{t("more")}</button>}
    </div>
  );
}

/** Return the filters that say something, as the words of a query. */
const given = (sought: Sought) => new URLSearchParams(Object.entries(sought).filter(([, value]) => value));

async function read(sought: Sought, pages: number, stop: AbortSignal): Promise<{ found: AuditEvent[]; more: boolean }> {
  const found: AuditEvent[] = [];
  let token = "";
  for (let page = 0; page < pages; page++) {
    const words = given(sought);
    words.set("page_size", String(PAGE));
    words.set("page_token", token);
    const next = await get<ListAuditEventsResponse>(`/v1/audit/events?${words}`, stop);
    found.push(...next.events);
    token = next.next_page_token;
    if (!token) break;
  }
  return { found, more: Boolean(token) };
}

function One({ event }: { event: AuditEvent }) {
  const failed = event.reason && event.reason !== "ERROR_REASON_UNSPECIFIED" ? named("", event.reason).replace(/^error reason /, "") : "";
  return (
    <li>
      <div class="item-main">
        <span class="item-name" dir="auto">{event.mixed ? t("audit.mixed") : event.action}</span>
        <span class="quiet facts">
          <span class={`state ${LOOKS[event.outcome] ?? "busy"}`}>{[named("audit", event.outcome), failed].filter(Boolean).join(": ")}</span>
          <span>{date(event.create_time)}</span>
          {event.user_id && <span dir="auto">{event.user_id}</span>}
          {event.resource && <code>{event.resource}</code>}
          {event.address && <span dir="auto">{event.address}</span>}
          {Number(event.count) > 1 && <span>{t("audit.times", { n: number(Number(event.count)) })}</span>}
          {[...event.changed_fields, ...event.providers].map((one) => <span class="tag" dir="auto">{one}</span>)}
        </span>
      </div>
    </li>
  );
}
