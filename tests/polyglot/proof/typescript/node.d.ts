// What the two files beside this one use of Node.js, so that they compile without a download. With @types/node leave it out.
interface Bytes extends Uint8Array {
  toString(encoding?: "hex" | "base64url"): string;
}

declare const Buffer: {
  from(content: Uint8Array): Bytes;
  from(content: string, encoding?: "utf8" | "base64url"): Bytes;
};

declare const console: { log(text: string): void };

declare const process: { argv: string[]; exitCode: number };

declare module "node:crypto" {
  interface Hmac {
    update(text: string): Hmac;
    digest(): Bytes;
    digest(encoding: "hex"): string;
  }
  export function createHmac(algorithm: string, key: string | Uint8Array): Hmac;
  export function timingSafeEqual(one: Uint8Array, other: Uint8Array): boolean;
}

declare module "node:fs" {
  export function readFileSync(path: string, encoding: "utf8"): string;
}
