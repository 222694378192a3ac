// One sign-in for all tabs of a browser: a tab asks the others over a channel, and each keeps it only as long as itself.
import { hold, key, refused, signIn, type Tokens, tokens } from "./session";

/** How long a tab waits for the others; they answer within a few milliseconds. */
const PATIENCE_MS = 250;

type Said =
  | { kind: "asked" }
  | { kind: "signed-in"; key: string; tokens: Tokens | null }
  | { kind: "signed-out"; key: string };

const channel = new BroadcastChannel("footnote.session");
const say = (said: Said) => channel.postMessage(said);
let waiting: (() => void) | null = null;

/** True while the server knows who calls: what it refuses is not handed on. */
let known = false;

/** Hand the sign-in on, once the server has accepted it or an issuer has renewed it. */
export function shareSession(): void {
  known = true;
  if (key.value && !refused.value) say({ kind: "signed-in", key: key.value, tokens: tokens.value });
}

/** Sign out in the other tabs that are signed in as this one is. */
export function shareSignOut(): void {
  known = false;
  if (key.value) say({ kind: "signed-out", key: key.value });
}

/** Ask the other tabs, and hold here what one of them holds. */
export function askOtherTabs(): Promise<void> {
  return new Promise((resolve) => {
    waiting = resolve;
    setTimeout(resolve, PATIENCE_MS);
    say({ kind: "asked" });
  });
}

/** Sign in as another tab is; return whether there is one. */
export async function signedInElsewhere(): Promise<boolean> {
  await askOtherTabs();
  return key.value !== "";
}

channel.onmessage = ({ data }: MessageEvent<Said>) => {
  if (data.kind === "asked") {
    if (known) shareSession();
  } else if (data.kind === "signed-out") {
    if (data.key === key.value) signIn("");
  } else if (!key.value || refused.value) {
    take(data.key, data.tokens);
  } else if (data.key === key.value && data.tokens && data.tokens.since > (tokens.value?.since ?? 0)) {
    hold(data.tokens);
    waiting?.();
  }
};

function take(shared: string, issued: Tokens | null): void {
  if (!issued) signIn(shared);
  else {
    hold(issued);
    refused.value = false;
    key.value = issued.id;
  }
  waiting?.();
}
