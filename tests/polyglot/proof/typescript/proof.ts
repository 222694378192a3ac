/** The proof between services, docs/service-proof.md, with Node's standard library alone. */
import { createHmac, timingSafeEqual } from "node:crypto";

export const HEADER = "x-footnote-proof";
export const EVERY_METHOD = "*";
const LONGEST_LIFE = 3660; // seconds
const LEEWAY = 30; // seconds that the signer's clock may be ahead
const SHAPE =
  /^v1\.([0-9a-f]{8})\.([0-9]{1,12})\.([0-9]{1,12})\.([m*])\.([A-Za-z0-9_-]*)\.([0-9a-f]{64})$/;

/** One secret of the deployment. */
export interface Key {
  readonly id: string;
  readonly key: Uint8Array;
}

export function keyOf(secret: string): Key {
  const derived = (purpose: string) => createHmac("sha256", secret).update(`footnote service ${purpose}`).digest();
  return { id: derived("id").toString("hex").slice(0, 8), key: derived("key") };
}

/** Returns the header of a call on behalf of a serialised scope; times are Unix seconds. */
export function sign(
  key: Key, stage: string, method: string, scope: Uint8Array, issued: number, expires: number,
): string {
  const methods = method === EVERY_METHOD ? EVERY_METHOD : "m";
  const text = Buffer.from(scope).toString("base64url");
  const head = `v1.${key.id}.${issued}.${expires}.${methods}.${text}`;
  return `${head}.${mac(key, head, stage, method)}`;
}

/** Returns the serialised scope that a header vouches for. `keys` are the secrets that are accepted, one or two. */
export function verify(
  keys: readonly Key[], header: string, stage: string, method: string, now: number,
): Uint8Array | undefined {
  const match = SHAPE.exec(header);
  if (match === null) return undefined;
  const [, id, issuedText, expiresText, methods, scope = "", given = ""] = match;
  const signed = methods === EVERY_METHOD ? EVERY_METHOD : method;
  const head = header.slice(0, header.lastIndexOf("."));
  let good = false;
  for (const key of keys) {
    const same = timingSafeEqual(Buffer.from(mac(key, head, stage, signed)), Buffer.from(given));
    good = (key.id === id && same) || good;
  }
  const issued = Number(issuedText);
  const expires = Number(expiresText);
  const timely =
    issued <= now + LEEWAY && expires >= issued && expires - issued <= LONGEST_LIFE && now <= expires;
  if (!good || !timely) return undefined;
  if (scope.length % 4 === 1) return undefined; // Node leaves out what is no base64
  return Buffer.from(scope, "base64url");
}

function mac(key: Key, head: string, stage: string, method: string): string {
  return createHmac("sha256", key.key).update(`${head}\n${stage}\n${method}`).digest("hex");
}
