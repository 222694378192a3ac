"""The names of span attributes and metrics: OpenTelemetry's where it defines one, else `footnote.` names."""

# Span attributes: the caller and the call.
TENANT_ID = "footnote.tenant_id"
USER_ID = "enduser.id"
REQUEST_ID = "footnote.request_id"
ERROR_REASON = "footnote.error.reason"
CANCELLED = "footnote.cancelled"

# Span attributes: the objects and results of the work.
COLLECTION_ID = "footnote.collection_id"
DOCUMENT_ID = "footnote.document_id"
REVISION = "footnote.revision"
CONVERSATION_ID = "footnote.conversation_id"
CHUNKS = "footnote.chunks"
BYTES = "footnote.bytes"
STRATEGY = "footnote.strategy"
SOURCES = "footnote.sources"
CITATIONS = "footnote.citations"
DEGRADATIONS = "footnote.degradations"

# Semantic conventions of rpc, db and gen_ai.
RPC_SYSTEM = "rpc.system.name"
RPC_METHOD = "rpc.method"  # the full name: package.Service/Method
RPC_STATUS_CODE = "rpc.response.status_code"
DB_SYSTEM = "db.system.name"
DB_OPERATION = "db.operation.name"
DB_COLLECTION = "db.collection.name"
DB_QUERY_TEXT = "db.query.text"  # without texts, numbers and names of documents, unless contents are recorded
ATTEMPT = "footnote.attempt"  # the number of a try, from 1
GEN_AI_OPERATION = "gen_ai.operation.name"
GEN_AI_PROVIDER = "gen_ai.provider.name"
GEN_AI_REQUEST_MODEL = "gen_ai.request.model"
GEN_AI_RESPONSE_MODEL = "gen_ai.response.model"
GEN_AI_INPUT_TOKENS = "gen_ai.usage.input_tokens"
GEN_AI_OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
GEN_AI_INPUT_MESSAGES = "gen_ai.input.messages"  # document text: only telemetry.record_content sets it
GEN_AI_OUTPUT_MESSAGES = "gen_ai.output.messages"  # document text: only telemetry.record_content sets it
GEN_AI_FINISH_REASONS = "gen_ai.response.finish_reasons"

# Metrics: name -> (unit, description). Their attributes have the names above.
RPC_SERVER_DURATION = "rpc.server.call.duration"
RPC_CLIENT_DURATION = "rpc.client.call.duration"
RPC_SERVER_ACTIVE = "footnote.rpc.server.active"
METRICS: dict[str, tuple[str, str]] = {
    RPC_SERVER_DURATION: ("s", "Time that calls served took, by method and status"),
    RPC_CLIENT_DURATION: ("s", "Time that calls made took, by method and status"),
    RPC_SERVER_ACTIVE: ("{call}", "Calls being served"),
    "footnote.event_loop.lag": ("s", "How late the event loop came to what was due, looked at ten times a second"),
    "footnote.event_loop.worst": ("s", "The longest of that in the last minute"),
    "footnote.ingestion.documents": ("{document}", "Documents that reached an end, by state and reason"),
    "footnote.ingestion.bytes": ("By", "Bytes accepted"),
    "footnote.ingestion.parse.duration": ("s", "Time that parsing one document took, by type"),
    "footnote.indexing.chunks": ("{chunk}", "Chunks written, by level"),
    "footnote.embedding.calls": ("{call}", "Calls of an embedding provider, by provider and outcome"),
    "footnote.embedding.texts": ("{text}", "Texts embedded, by provider"),
    "footnote.embedding.cache": ("{lookup}", "Lookups in the embedding cache, by outcome: hit or miss"),
    "footnote.retrieval.searches": ("{search}", "Searches, by strategy and outcome"),
    "footnote.retrieval.duration": ("s", "Time that searches took, by channel"),
    "footnote.store.duration": ("s", "Time that calls of the vector store took, by operation"),
    "footnote.generation.tokens": ("{token}", "Tokens, by direction and model"),
    "footnote.generation.time_to_first_token": ("s", "From the call to the model's first token"),
    "footnote.generation.citations": ("{citation}", "Citations, by verdict"),
    "footnote.edge.searches": ("{search}", "Searches of callers and of questions that could look at the documents"),
    "footnote.edge.misses": ("{search}", "Those that found nothing relevant"),
    "footnote.edge.tokens": ("{token}", "Tokens charged to tenants, by kind: prompt, completion or embedding"),
    "footnote.edge.cost": ("{USD}", "US dollars charged to tenants, where prices are known"),
    "footnote.edge.quota_refusals": ("{call}", "Calls refused because a tenant's day is used up, by quota"),
    "footnote.edge.audit_attempts_counted": (
        "{attempt}",
        "Refused and failed attempts that are in the audit log by their number alone",
    ),
    "footnote.edge.audit_write_failures": ("{write}", "Writes of the audit log that failed and are repeated"),
    "footnote.edge.audit_events_dropped": (
        "{event}",
        "Events that the service log alone has: too many waited",
    ),
    "footnote.edge.asks": ("{ask}", "Questions asked, by finish reason"),
    "footnote.edge.degradations": ("{degradation}", "Degradations reported, by stage and reason"),
    "footnote.edge.sources.listings": ("{listing}", "Listings of sources, by kind and outcome: complete or partial"),
    "footnote.edge.sources.items": (
        "{item}",
        "Items of sources, by kind and outcome: in_step, moved, deleted, failed or skipped",
    ),
    "footnote.edge.sources.bytes": ("By", "Bytes fetched from sources, by kind"),
    "footnote.edge.sources.age": ("s", "Longest time since a source that is not paused was in step"),
    "footnote.edge.sources.watched": ("{source}", "Sources whose changes this replica notices at once"),
    "footnote.edge.jobs.waiting": (
        "{document}",
        "Documents accepted and not yet at an end; the same from every replica",
    ),
    "footnote.edge.jobs.age": (
        "s",
        "Since the oldest unfinished job of a document was taken on; a replica leaves out those that others put off",
    ),
    "footnote.edge.shed": ("{call}", "Calls refused because there was no place for them, by kind and reason"),
    "footnote.edge.repairs": (
        "{document}",
        "Documents mended because catalogue and ledger differed, by kind of repair",
    ),
    "footnote.edge.feedback": ("{feedback}", "Feedback given, by verdict"),
}
