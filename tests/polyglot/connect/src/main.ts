// The story that every language's client tells against a live deployment: see ../README.md.
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { AnswersService } from "../gen/footnote/edge/v1/answers_pb.js";
import { CollectionsService } from "../gen/footnote/edge/v1/collections_pb.js";
import { DocumentsService } from "../gen/footnote/edge/v1/documents_pb.js";
import { ErrorInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { DocumentState } from "../gen/footnote/types/v1/document_pb.js";

const text = "# Leave\n\nEvery employee has 27 days of paid leave a year.\n";
const question = "How many days of paid leave does every employee have?";
const name = "polyglot-connect";

const key: Interceptor = (next) => (request) => {
  request.header.set("authorization", `Bearer ${process.env.FOOTNOTE_API_KEY}`);
  return next(request);
};
const transport = createGrpcTransport({
  baseUrl: `http://${process.env.FOOTNOTE_ADDRESS}`,
  interceptors: [key],
  defaultTimeoutMs: 120_000,
});
const collections = createClient(CollectionsService, transport);
const documents = createClient(DocumentsService, transport);
const answers = createClient(AnswersService, transport);

function check(holds: unknown, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}

await collections.createCollection({ collection: { name } });
console.log("create");

async function* parts() {
  yield { payload: { case: "metadata" as const, value: { collection: name, filename: "leave.md" } } };
  yield { payload: { case: "data" as const, value: new TextEncoder().encode(text) } };
}
const { document } = await documents.uploadDocument(parts());
check(document, "no document");
console.log("upload");

let state = document.state;
for await (const one of documents.watchDocument({ documentId: document.id })) state = one.document?.state ?? state;
check(state === DocumentState.INDEXED, `the document is ${DocumentState[state]}`);
console.log("watch");

const found = await answers.search({ query: "paid leave", collections: [name] });
check(found.chunks[0]?.chunk?.text.includes("27 days"), "the search found something else");
console.log("search");

let footnote;
for await (const { event } of answers.ask({ question, collections: [name] })) {
  if (event.case === "completed") footnote = event.value.answer?.citations[0];
}
check(footnote?.documentId === document.id && footnote.revision === 1, "the answer has no footnote");
check(footnote.quote.includes("27 days"), `the footnote quotes ${footnote.quote}`);
console.log("ask");

const error = ConnectError.from(await documents.getDocument({ documentId: "missing" }).catch((thrown) => thrown));
const [info] = error.findDetails(ErrorInfoSchema);
check(error.code === Code.NotFound && info?.reason === "DOCUMENT_NOT_FOUND", `the error is ${error}`);
console.log("error");

const stop = new AbortController();
try {
  for await (const _ of answers.ask({ question, collections: [name] }, { signal: stop.signal })) stop.abort();
} catch (thrown) {
  check(ConnectError.from(thrown).code === Code.Canceled, `cancelled, it ended with ${thrown}`);
}
console.log("cancel");

await collections.deleteCollection({ collection: name });
console.log("delete");
process.exit(0); // the connection stays open for the next call
