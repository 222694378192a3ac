// The console: who calls, the views, the document beside them.
import { useSignalEffect } from "@preact/signals";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "./api/client";
import { finish, signOut, ways } from "./api/oidc";
import { key, refused } from "./api/session";
import { shareSession, shareSignOut } from "./api/sharing";
import type { Role, WhoAmIResponse } from "./api/types";
import { Failure, type Fault, Told, attempt, faultOf } from "./parts/failure";
import { announced, arrive, collections, hide, link, loadCollections, me, route, shown } from "./state";
import { Icon } from "./parts/icons";
import { type Key, LANGUAGES, type Language, language, named, ready, speak, t } from "./strings";
import { THEMES, choose, theme } from "./theme";
import { Ask } from "./views/ask";
import { Audit } from "./views/audit";
import { Collections } from "./views/collections";
import { Conversations } from "./views/conversations";
import { Documents } from "./views/documents";
import { Evaluation } from "./views/evaluation";
import { Keys } from "./views/keys";
import { Overview } from "./views/overview";
import { Recent } from "./views/recent";
import { Shared } from "./views/shared";
import { Sources } from "./views/sources";
import { SignIn } from "./views/signin";
import { Viewer } from "./viewer/viewer";

const VIEWS: { name: string; label: Key; draw: (rest: string) => preact.JSX.Element; least?: Role }[] = [
  { name: "ask", label: "nav.ask", draw: (rest) => <Ask conversation={rest} /> },
  { name: "documents", label: "nav.documents", draw: (rest) => <Documents collection={rest} /> },
  { name: "collections", label: "nav.collections", draw: (rest) => <Collections opened={rest} /> },
  { name: "conversations", label: "nav.conversations", draw: () => <Conversations /> },
  { name: "sources", label: "nav.sources", draw: () => <Sources />, least: "ROLE_WRITER" },
  { name: "evaluation", label: "nav.evaluation", draw: () => <Evaluation />, least: "ROLE_WRITER" },
  { name: "overview", label: "nav.overview", draw: () => <Overview /> },
  { name: "keys", label: "nav.keys", draw: () => <Keys />, least: "ROLE_ADMIN" },
  { name: "audit", label: "nav.audit", draw: () => <Audit />, least: "ROLE_ADMIN" },
];
const ROLES: Role[] = ["ROLE_READER", "ROLE_WRITER", "ROLE_ADMIN"];

function Unknown() {
  return <div class="page"><h1>{t("route.unknown")}</h1><p>{t("route.unknown.lead")} <a href={link("ask")}>{t("nav.ask")}</a></p></div>;
}

function App() {
  const [fault, setFault] = useState<Fault | null>(null);
  useSignalEffect(() => {
    const asked = key.value;
    me.value = null;
    collections.value = [];
    hide();
    if (refused.value) return;
    get<WhoAmIResponse>("/v1/whoami").then(async (found) => {
      if (asked !== key.value) return;
      setFault(null);
      me.value = found;
      shareSession();
      await loadCollections();
    }).catch((error) => asked === key.value && !refused.value && setFault(faultOf(error)));
  });
  const [name = "ask", rest = ""] = route.value;
  // On a narrow page the document lies over the view that one went to.
  useEffect(() => {
    shown.value = null;
  }, [name]);
  useEffect(() => {
    const row = document.querySelector(".side ul");
    if (row) hint(row);
  });
  // The words of every view change with the language.
  void language.value;
  if (refused.value) return <SignIn />;
  if (fault) return <main class="signin"><Failure fault={fault} again={() => location.reload()} /></main>;
  if (!me.value) return <main class="signin quiet"><p role="status">{t("loading")}</p></main>;
  const views = VIEWS.filter((one) => !one.least || ROLES.indexOf(me.value!.role) >= ROLES.indexOf(one.least));
  const view = views.find((one) => one.name === name);
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>{t("nav.skip")}</a>
      <nav class="side" aria-label={t("nav.label")}>
        <a class="brand" dir="ltr" href={link("ask")}>Footnote</a>
        <ul ref={watched} onScroll={({ currentTarget }) => hint(currentTarget)}>
          {views.map((one) => (
            <li><a href={link(one.name)} ref={one === view ? inSight : undefined} aria-current={one === view ? "page" : undefined}>{t(one.label)}</a></li>
          ))}
        </ul>
        {view?.name === "ask" && <Recent opened={rest} />}
        <Foot />
      </nav>
      <main id="content" tabIndex={0} key={`${name} ${key.value}`}>{view ? view.draw(rest) : name === "shared" && rest ? <Shared id={rest} /> : <Unknown />}</main>
      <Viewer />
      <Told />
      <div class="hidden" aria-live="polite" role="status">{announced.value}</div>
    </>
  );
}

const resized = new ResizeObserver((all) => all.forEach(({ target }) => hint(target)));

/** Watch how wide the row of views is. */
function watched(list: HTMLUListElement | null) {
  if (list) resized.observe(list);
  else resized.disconnect();
}

/** Fade the row of views out on the side where more of it lies. Arabic scrolls to negative offsets. */
function hint(row: Element) {
  const more = row.scrollWidth - row.clientWidth;
  const at = Math.abs(row.scrollLeft);
  row.classList.toggle("more-before", at > 1);
  row.classList.toggle("more-after", more - at > 1);
}

/** On a narrow page the views lie in a row that is wider than it: bring the one in use into sight. */
function inSight(entry: HTMLAnchorElement | null) {
  const row = entry?.closest("ul");
  if (entry && row) row.scrollLeft = entry.offsetLeft - row.offsetLeft - (row.clientWidth - entry.offsetWidth) / 2;
}

function Foot() {
  const { user_id: user, tenant_id: tenant } = me.value!;
  return (
    <div class="foot">
      <span class="quiet who">{t("who.tenant", { user, tenant })}</span>
      <select aria-label={t("nav.language")} value={language.value} onChange={async ({ currentTarget }) => {
        if (!(await attempt(() => speak(currentTarget.value as Language)))) currentTarget.value = language.value;
      }}>
        {Object.entries(LANGUAGES).map(([one, name]) => <option key={one} value={one} lang={one}>{name}</option>)}
      </select>
      <button type="button" class="plain" aria-label={named("theme", theme.value)} title={named("theme", theme.value)} onClick={() => choose(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!)}><Icon name={theme.value} /></button>
      {key.value && <button type="button" class="plain" onClick={() => { shareSignOut(); void signOut(); }}>{t("who.out")}</button>}
    </div>
  );
}

// Who comes back from an issuer is signed in before anything is asked of the server.
Promise.all([finish(), ready]).then(() => {
  void ways(); // and with it whether addresses in answers are links
  arrive();
  render(<App />, document.getElementById("app")!);
});
