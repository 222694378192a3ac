// The story that every language's client tells against a live deployment: see ../../README.md.
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { fileURLToPath } from "node:url";

import type { ProtoGrpcType as Answers } from "../gen/answers.js";
import type { ProtoGrpcType as Collections } from "../gen/collections.js";
import type { ProtoGrpcType as Documents } from "../gen/documents.js";

const protos = fileURLToPath(new URL("../../protos", import.meta.url));
const loaded = loadSync(
  ["footnote/edge/v1/answers.proto", "footnote/edge/v1/collections.proto", "footnote/edge/v1/documents.proto"],
  { includeDirs: [protos], longs: Number, enums: String, defaults: true, oneofs: true },
);
const { edge } = (grpc.loadPackageDefinition(loaded) as unknown as Answers & Collections & Documents).footnote;

const address = process.env.FOOTNOTE_ADDRESS ?? "127.0.0.1:7100";
const credentials = grpc.credentials.createInsecure();
const withKey: grpc.Interceptor = (options, next) =>
  new grpc.InterceptingCall(next(options), {
    start(metadata, listener, proceed) {
      metadata.set("authorization", `Bearer ${process.env.FOOTNOTE_API_KEY}`);
      proceed(metadata, listener);
    },
  });
const options = { interceptors: [withKey] };
const collections = new edge.v1.CollectionsService(address, credentials, options);
const documents = new edge.v1.DocumentsService(address, credentials, options);
const answers = new edge.v1.AnswersService(address, credentials, options);

const NAME = "polyglot-typescript";
const TEXT = Buffer.from("# Leave\n\nEvery employee has 27 days of paid leave a year.\n");

type Callback<T> = (error: grpc.ServiceError | null, value?: T) => void;
const told = <T>(call: (done: Callback<T>) => unknown): Promise<T> =>
  new Promise((resolve, reject) => call((error, value) => (error ? reject(error) : resolve(value as T))));

function check(condition: unknown, words: string): asserts condition {
  if (!condition) throw new Error(words);
}

async function upload(): Promise<string> {
  const response = await told<{ document?: { id?: string } | null }>((done) => {
    const stream = documents.UploadDocument(done as never);
    stream.write({ metadata: { collection: NAME, filename: "leave.md", tags: ["typescript"] } });
    stream.write({ data: TEXT.subarray(0, 20) });
    stream.write({ data: TEXT.subarray(20) });
    stream.end();
  });
  check(response.document?.id, "no document");
  return response.document.id;
}

async function watch(id: string): Promise<void> {
  let state = "";
  for await (const event of documents.WatchDocument({ documentId: id })) state = event.document.state;
  check(state === "DOCUMENT_STATE_INDEXED", `ended as ${state}`);
}

async function search(): Promise<void> {
  const found = await told<{ chunks: { chunk?: { text: string } | null }[] }>((done) =>
    answers.Search({ query: "paid leave", collections: [NAME] }, done as never),
  );
  check(found.chunks.length === 1 && found.chunks[0]?.chunk?.text.includes("27 days"), "search found something else");
}

async function ask(): Promise<void> {
  const question = "How many days of paid leave does every employee have?";
  let words = "";
  for await (const event of answers.Ask({ question, collections: [NAME] })) {
    words += event.textDelta ?? "";
    if (!event.completed) continue;
    const citations = event.completed.answer.citations;
    check(words.includes("27 days") && citations.length === 1, `answered ${words}`);
    check(citations[0].support === "VERDICT_SUPPORTED", "the footnote is not supported");
    check(citations[0].locator.lines.firstLine === 3, "the footnote is elsewhere");
    return;
  }
  throw new Error("the answer did not end");
}

async function failure(): Promise<void> {
  try {
    await told((done) => collections.GetCollection({ collection: "there-is-none" }, done as never));
  } catch (error) {
    const { code, metadata } = error as grpc.ServiceError;
    check(code === grpc.status.NOT_FOUND, `not NOT_FOUND but ${code}`);
    const details = metadata.get("grpc-status-details-bin")[0]?.toString() ?? "";
    check(details.includes("COLLECTION_NOT_FOUND"), "no reason in the details");
    return;
  }
  throw new Error("a collection that is not there was found");
}

async function cancelled(): Promise<void> {
  const stream = documents.WatchDocuments({ collection: NAME });
  const code = await new Promise<number>((resolve) => {
    stream.on("data", () => stream.cancel());
    stream.on("error", (error: grpc.ServiceError) => resolve(error.code));
  });
  check(code === grpc.status.CANCELLED, `cancelled with ${code}`);
}

await told((done) => collections.CreateCollection({ collection: { name: NAME } }, done as never));
console.log("create");
const id = await upload();
console.log("upload");
await watch(id);
console.log("watch");
await search();
console.log("search");
await ask();
console.log("ask");
await failure();
console.log("error");
await cancelled();
console.log("cancel");
await told((done) => documents.DeleteDocument({ documentId: id }, done as never));
await told((done) => collections.DeleteCollection({ collection: NAME }, done as never));
console.log("delete");
