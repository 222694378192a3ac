// Keys of the tenant: made, shown once, revoked.
import { useState } from "preact/hooks";
import { call, get } from "../api/client";
import type { CreateKeyResponse, Key, ListKeysResponse, Role } from "../api/types";
import { Confirm } from "../parts/confirm";
import { Failure, attempt, copy } from "../parts/failure";
import { useLoaded, useRequestId } from "../parts/load";
import { me } from "../state";
import { date, named, t } from "../strings";

const ROLES: Role[] = ["ROLE_READER", "ROLE_WRITER", "ROLE_ADMIN"];
const DAY = 86_400;

async function read(stop: AbortSignal): Promise<Key[]> {
  const found: Key[] = [];
  let token = "";
  do {
    const page = await get<ListKeysResponse>(`/v1/keys?page_size=1000&page_token=${encodeURIComponent(token)}`, stop);
    found.push(...page.keys);
    token = page.next_page_token;
  } while (token);
  return found;
}

export function Keys() {
  const { value, fault, doing } = useLoaded(read, []);
  const [secret, setSecret] = useState("");
  const off = fault?.reason === "KEYS_OFF";
  return (
    <div class="page">
      <h1>{t("nav.keys")}</h1>
      {fault && (off ? <p class="notice">{t("keys.off")}</p> : <Failure fault={fault} />)}
      {secret && (
        <div class="notice secret" role="alert">
          <strong>{t("keys.secret")}</strong>
          <div class="row"><code>{secret}</code><button type="button" onClick={() => attempt(() => copy(secret))}>{t("keys.copy")}</button><button type="button" class="plain" onClick={() => setSecret("")}>{t("close")}</button></div>
        </div>
      )}
      {!off && <Make make={(body) => doing(async () => setSecret((await call<CreateKeyResponse>("POST", "/v1/keys", body)).secret))} />}
      <ul class="list">
        {value?.map((one) => (
          <li key={one.id}>
            <div class="item-main">
              <span class="item-name" dir="auto">{one.label}</span>
              <span class="quiet facts">
                <span dir="auto">{one.user_id}</span><span>{named("role", one.role)}</span><span>{t("keys.made", { date: date(one.create_time) })}</span>
                {one.expire_time && <span>{t("keys.until", { date: date(one.expire_time) })}</span>}
                {one.groups.map((group) => <span class="tag" dir="auto">{group}</span>)}
                {one.id === me.value?.key_id && <span class="tag">{t("keys.own")}</span>}
              </span>
            </div>
            <div class="item-actions">
              <Confirm label={t("keys.revoke")} about={one.label} sure={t("keys.revoke.sure")} act={() => doing(() => call("POST", `/v1/keys/${encodeURIComponent(one.id)}:revoke`, {}))} />
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Make({ make }: { make: (body: object) => Promise<boolean> }) {
  const [label, setLabel] = useState("");
  const [user, setUser] = useState("");
  const [role, setRole] = useState<Role>("ROLE_READER");
  const [days, setDays] = useState("");
  const request = useRequestId();
  return (
    <form class="card fields" onSubmit={async (event) => {
      event.preventDefault();
      const ttl = Number(days) > 0 ? { ttl: `${Number(days) * DAY}s` } : {};
      const body = { label, user_id: user, role, ...ttl };
      if (!await make({ ...body, request_id: request.of(body) })) return;
      request.done();
      setLabel("");
    }}>
      <h2>{t("keys.new")}</h2>
      <label>{t("keys.label")}<input required maxLength={200} value={label} onInput={(event) => setLabel(event.currentTarget.value)} /></label>
      <label>{t("keys.user")}<input maxLength={256} value={user} onInput={(event) => setUser(event.currentTarget.value)} /></label>
      <label>{t("keys.role")}<select value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>{ROLES.map((one) => <option value={one}>{named("role", one)}</option>)}</select></label>
      <label>{t("keys.days")}<input type="number" min={1} max={36500} value={days} onInput={(event) => setDays(event.currentTarget.value)} /></label>
      <button class="primary">{t("keys.make")}</button>
    </form>
  );
}
