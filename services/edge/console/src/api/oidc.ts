// OpenID Connect: the authorization code flow with PKCE, as a public client. No token ever stands in an address.
import { AT_ISSUER, hold, key, refused, signIn, type Tokens, tokens, why } from "./session";
import { askOtherTabs, shareSession } from "./sharing";
import { outsideLinks } from "../state";
import type { Key } from "../strings";

const BEGUN = "footnote.oidc.begun";

interface Issuer {
  issuer: string;
  client_id: string;
  scope: string;
  token: "access" | "id";
}

/** How people sign in here. */
export interface Ways {
  keys: boolean;
  /** Whether addresses in answers may be links. */
  links?: boolean;
  oidc?: Issuer;
}

/** What the issuer publishes of itself. */
interface Metadata {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  end_session_endpoint?: string;
  revocation_endpoint?: string;
}

/** What the page remembers while the issuer asks who one is. */
interface Begun {
  state: string;
  nonce: string;
  verifier: string;
  back: string;
}

interface Given {
  access_token?: string;
  id_token?: string;
  refresh_token?: string;
  expires_in?: number;
  error?: string;
  error_description?: string;
}

/** A sign-in that did not come about, in the page's words and the issuer's. */
class Failed extends Error {
  constructor(readonly text: Key, readonly said = "") {
    super(text);
  }
}

let asked: Promise<Ways> | null = null;

/** Ask once how people sign in here; only a key where that is not to be had. */
export function ways(): Promise<Ways> {
  asked ??= fetch("/signin.json", { credentials: "omit" }).then((found) => found.json()).then((known: Ways) => {
    outsideLinks.value = known.links === true;
    return known;
  }).catch(() => {
    asked = null;
    return { keys: true };
  });
  return asked;
}

async function issuer(): Promise<Issuer> {
  const { oidc } = await ways();
  if (!oidc) throw new Failed("signin.notbegun");
  return oidc;
}

async function metadata(of: Issuer): Promise<Metadata> {
  const address = `${of.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const found: Metadata = await asking(address);
  const ends = [found.authorization_endpoint, found.token_endpoint, found.end_session_endpoint, found.revocation_endpoint];
  if (found.issuer !== of.issuer || ends.some((end) => end !== undefined && !/^https?:\/\//.test(end))) throw new Failed("signin.unreachable");
  return found;
}

async function asking<T>(address: string, form?: Record<string, string>): Promise<T> {
  const init: RequestInit = { credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer", signal: AbortSignal.timeout(20_000) };
  if (form) Object.assign(init, { method: "POST", body: new URLSearchParams(form) });
  let found: Response;
  let body: (T & Given) | null;
  try {
    found = await fetch(address, init);
    body = await found.json();
  } catch {
    throw new Failed("signin.unreachable");
  }
  if (!found.ok || body === null) throw new Failed("signin.refused", [body?.error, body?.error_description].filter(Boolean).join(": ") || String(found.status));
  return body;
}

/** Go to the issuer, which asks who one is and sends one back here. */
export async function begin(): Promise<void> {
  await trying(async () => {
    // Browsers keep the digest that PKCE needs from pages that come neither by HTTPS nor from this machine.
    if (!crypto.subtle) throw new Failed("signin.insecure");
    const of = await issuer();
    const found = await metadata(of);
    const begun: Begun = { state: secret(), nonce: secret(), verifier: secret(), back: location.hash };
    sessionStorage.setItem(BEGUN, JSON.stringify(begun));
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(begun.verifier));
    location.assign(extended(found.authorization_endpoint, {
      response_type: "code", client_id: of.client_id, redirect_uri: home(), scope: of.scope,
      state: begun.state, nonce: begun.nonce, code_challenge: base64(new Uint8Array(digest)), code_challenge_method: "S256",
    }));
  });
}

/** Come back from the issuer, if that is where one comes from; the address is cleaned before anything else is done. */
export async function finish(): Promise<void> {
  const answer = new URLSearchParams(location.search);
  if (!answer.has("state") && !answer.has("code") && !answer.has("error")) return;
  const begun: Begun | null = JSON.parse(sessionStorage.getItem(BEGUN) ?? "null");
  sessionStorage.removeItem(BEGUN);
  history.replaceState(null, "", `/${begun?.back ?? location.hash}`);
  // Whoever is signed in stays so, whatever a link from elsewhere says.
  if (!begun && key.value) return;
  await trying(async () => {
    const of = await issuer();
    const from = answer.get("iss");
    if (!begun || answer.get("state") !== begun.state || (from !== null && from !== of.issuer)) throw new Failed("signin.notbegun");
    const code = answer.get("code");
    if (!code) throw new Failed("signin.refused", answer.get("error_description") ?? answer.get("error") ?? "");
    const { token_endpoint: end } = await metadata(of);
    const given = await asking<Given>(end, {
      grant_type: "authorization_code", code, redirect_uri: home(), client_id: of.client_id, code_verifier: begun.verifier,
    });
    // The token comes from the issuer itself, over a connection of ours: its signature is for the server to check.
    const claims = payload(given.id_token);
    const audience = [claims["aud"]].flat();
    if (claims["iss"] !== of.issuer || !audience.includes(of.client_id) || claims["nonce"] !== begun.nonce) throw new Failed("signin.notbegun");
    const found = kept(of, given, AT_ISSUER + begun.state);
    hold(found);
    key.value = found.id;
  });
}

async function trying(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    why.value = error instanceof Failed ? { text: error.text, said: error.said } : { text: "signin.unreachable" };
    refused.value = true;
  }
}

let renewing: Promise<void> | null = null;

/** Return the token to call with, renewed in time where the issuer allows it; empty where nobody is signed in. */
export async function credential(): Promise<string> {
  const held = tokens.value;
  if (!held) return key.value.startsWith(AT_ISSUER) ? "" : key.value;
  const early = Math.min(30_000, (held.until - held.since) / 4);
  if (held.refresh && Date.now() > held.until - early) {
    renewing ??= renew(held).finally(() => { renewing = null; });
    await renewing;
  }
  return tokens.value?.token ?? held.token;
}

/** Renew in one tab at a time: an issuer takes a token to renew with once, and the tabs share one. */
async function renew(held: Tokens): Promise<void> {
  await navigator.locks.request("footnote.renewal", async () => {
    await askOtherTabs();
    if (tokens.value === held) await renewHere(held);
  });
}

async function renewHere(held: Tokens): Promise<void> {
  try {
    const of = await issuer();
    const { token_endpoint: end } = await metadata(of);
    const given = await asking<Given>(end, { grant_type: "refresh_token", refresh_token: held.refresh, client_id: of.client_id });
    if (tokens.value !== held) return;
    hold(kept(of, { ...given, refresh_token: given.refresh_token ?? held.refresh }, held.id));
    shareSession();
  } catch (error) {
    // What is held may still do; where it does not, the server says so and one signs in again.
    if (error instanceof Failed && error.text === "signin.refused" && tokens.value === held) hold({ ...held, refresh: "" });
  }
}

/** Sign out here and, where one signed in at an issuer, there. */
export async function signOut(): Promise<void> {
  const held = tokens.value;
  if (!held) return signIn("");
  hold(null);
  try {
    const of = await issuer();
    const found = await metadata(of);
    if (held.refresh && found.revocation_endpoint) {
      await fetch(found.revocation_endpoint, {
        method: "POST", credentials: "omit", signal: AbortSignal.timeout(5_000),
        body: new URLSearchParams({ token: held.refresh, token_type_hint: "refresh_token", client_id: of.client_id }),
      }).catch(() => undefined);
    }
    if (found.end_session_endpoint) {
      location.assign(extended(found.end_session_endpoint, { client_id: of.client_id, post_logout_redirect_uri: home() }));
      return;
    }
  } catch {
    // The issuer cannot be reached: here one is signed out all the same.
  }
  signIn("");
}

function kept(of: Issuer, given: Given, id: string): Tokens {
  const token = of.token === "id" ? given.id_token : given.access_token;
  if (!token) throw new Failed("signin.refused", `no ${of.token}_token`);
  const now = Date.now();
  const seconds = of.token === "id" ? Number(payload(token)["exp"]) - now / 1000 : given.expires_in ?? 300;
  return { id, token, since: now, until: now + 1000 * seconds, refresh: given.refresh_token ?? "" };
}

function payload(token = ""): Record<string, unknown> {
  try {
    const part = token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (one) => one.charCodeAt(0))));
  } catch {
    return {};
  }
}

const home = () => `${location.origin}/`;
const secret = () => base64(crypto.getRandomValues(new Uint8Array(32)));
const base64 = (given: Uint8Array) => btoa(String.fromCharCode(...given)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function extended(address: string, values: Record<string, string>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
  return url.href;
}
