/** Every case of the file named on the command line; exit code 1 when one comes out otherwise. */
import { readFileSync } from "node:fs";

import { EVERY_METHOD, keyOf, sign, verify } from "./proof.js";

function problemOf(vector: Record<string, string>): string {
  const { proof = "", audience = "", method = "", secrets = "" } = vector;
  const keys = secrets.split(",").map(keyOf);
  const scope = verify(keys, proof, audience, method, Number(vector.now));
  if (vector.result === "refuse") return scope === undefined ? "" : "it was accepted";
  if (scope === undefined || Buffer.from(scope).toString("hex") !== vector.scope) {
    return "it was refused, or has another scope";
  }
  // Signed again with the same key and times it is the same.
  const [, id, issued, expires, methods] = proof.split(".");
  const signed = methods === EVERY_METHOD ? EVERY_METHOD : method;
  const same = keys.some(
    (key) => key.id === id && sign(key, audience, signed, scope, Number(issued), Number(expires)) === proof,
  );
  return same ? "" : "signed again it is another";
}

const [names = [], ...rows] = readFileSync(process.argv[2] ?? "", "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => line.split("\t"));
let failed = 0;
for (const row of rows) {
  const vector = Object.fromEntries(names.map((name, at) => [name, row[at] ?? ""]));
  const problem = problemOf(vector);
  if (problem !== "") {
    failed += 1;
    console.log(`${vector.name}: ${problem}`);
  }
}
console.log(`${rows.length} vectors, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
