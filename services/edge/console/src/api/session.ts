// Who is signed in: by a key or a token given in the form, or by OpenID Connect. It lasts as long as the tab.
import { batch, signal } from "@preact/signals";
import type { Key } from "../strings";

const STORE = "footnote.key";
const TOKENS = "footnote.oidc";
/** What is typed and not asked yet: it outlives a session that ends by itself, not a sign-out. */
export const DRAFT = "footnote.draft";

/** What an issuer gave: the token that calls are made with, until when (milliseconds since 1970), and how to renew it. */
export interface Tokens {
  /** Of this sign-in: the same after a renewal. */
  id: string;
  token: string;
  since: number;
  until: number;
  refresh: string;
}

export const tokens = signal<Tokens | null>(stored());

/** How the names of sign-ins at an issuer begin, which no key does. */
export const AT_ISSUER = "oidc ";

/** Names who is signed in: a key, or the sign-in at an issuer; changes with the person, not when a token is renewed. */
export const key = signal(tokens.value ? tokens.value.id : sessionStorage.getItem(STORE) ?? "");

/** True once the server has said that it does not know the caller. */
export const refused = signal(false);

/** Why one has to sign in, where there is something to say; `said` is in the issuer's words. */
export const why = signal<{ text: Key; said?: string } | null>(null);

function stored(): Tokens | null {
  try {
    return JSON.parse(sessionStorage.getItem(TOKENS) ?? "null");
  } catch {
    return null;
  }
}

/** Sign in with a key or token; an empty one signs out. */
export function signIn(given: string): void {
  batch(() => {
    hold(null);
    if (given) sessionStorage.setItem(STORE, given);
    else sessionStorage.removeItem(DRAFT);
    why.value = null;
    refused.value = false;
    key.value = given;
  });
}

/** Keep what an issuer gave, or nothing any more. */
export function hold(found: Tokens | null): void {
  tokens.value = found;
  sessionStorage.removeItem(STORE);
  if (found) sessionStorage.setItem(TOKENS, JSON.stringify(found));
  else sessionStorage.removeItem(TOKENS);
}

/** The server does not know the caller: ask to sign in, and say what became of the sign-in there was. */
export function turnedAway(): void {
  if (tokens.value) {
    hold(null);
    why.value = { text: "signin.ended" };
  } else if (key.value && !why.value) why.value = { text: "signin.wrong" };
  refused.value = true;
}
