// Builds the console into the edge's package: files named after their content, and the page that loads them.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../src/footnote_edge/http/console/built");
const assets = join(out, "assets");
rmSync(out, { recursive: true, force: true });
mkdirSync(assets, { recursive: true });

// pdf.js runs in a worker of its own: one file, loaded by its name.
const worker = readFileSync(join(here, "node_modules/pdfjs-dist/build/pdf.worker.min.mjs"));
const workerName = `pdf-worker-${createHash("sha256").update(worker).digest("hex").slice(0, 8).toUpperCase()}.js`;
writeFileSync(join(assets, workerName), worker);

const result = await esbuild.build({
  absWorkingDir: here,
  entryPoints: { console: "src/main.tsx", style: "src/style.css" },
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: assets,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  define: { PDF_WORKER: JSON.stringify(`/assets/${workerName}`) },
  alias: { "pdfjs-dist": "pdfjs-dist/build/pdf.min.mjs" },
  metafile: true,
  logLevel: "warning",
});
const built = Object.entries(result.metafile.outputs);
const named = (entry) => relative(out, join(here, built.find(([, one]) => one.entryPoint === entry)[0]));
const page = readFileSync(join(here, "src/index.html"), "utf8")
  .replace("STYLE", `/${named("src/style.css")}`)
  .replace("SCRIPT", `/${named("src/main.tsx")}`);
writeFileSync(join(out, "index.html"), page);
// What is carried with the package, and under which terms: all that the bundles were made of, and the worker's package.
const packageOf = /node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const carried = new Set(["pdfjs-dist"]);
for (const input of Object.keys(result.metafile.inputs)) {
  const name = packageOf.exec(input)?.[1];
  if (name) carried.add(name);
}
const terms = [...carried].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((one) => /^licen[cs]e(\.\w+)?$/i.test(one));
  if (!file) throw new Error(`${name} carries no licence`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});
writeFileSync(join(out, "LICENSES.txt"), terms.join(`\n${"-".repeat(80)}\n\n`));
for (const name of readdirSync(assets).sort()) {
  console.log(`${String(readFileSync(join(assets, name)).length).padStart(9)}  ${name}`);
}
