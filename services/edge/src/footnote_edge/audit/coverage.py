"""The RPCs that the audit log covers, and where an event finds its resource; each new RPC must be declared here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Audited:
    """An RPC of which every success and failure is an event.

    `kind` is the type of its resource. `named` is the path in the request that names it, `made` the more reliable path
    in the response. `within` are the parts of the resource that a message may name, each a type and a path. `changes`
    is the request field whose subfields are changed. `each` is the list in the response with an outcome for each of
    several resources, `stored` or `error`: each gets an event.
    """

    kind: str
    named: str = ""
    made: str = ""
    changes: str = ""
    each: str = ""
    within: tuple[tuple[str, str], ...] = ()


AUDITED: dict[str, Audited] = {
    "CreateCollection": Audited("collections", made="collection.id", changes="collection"),
    "UpdateCollection": Audited("collections", "collection", "collection.id", "resource"),
    "DeleteCollection": Audited("collections", "collection", "operation.collection_id"),
    "CreateEvaluationRun": Audited("evaluations", made="run.id"),
    "DeleteEvaluationRun": Audited("evaluations", "run_id"),
    "AddVectors": Audited("collections", "collection"),
    "DeleteVectors": Audited("collections", "collection"),
    "UploadDocument": Audited("documents", made="document.id"),
    "UploadDocuments": Audited("documents", made="stored.document.id", each="files"),
    "ReplaceDocument": Audited("documents", "metadata.document_id", "document.id"),
    "UpdateDocument": Audited("documents", "document_id", changes="resource"),
    "DeleteDocument": Audited("documents", "document_id"),
    "CancelDocument": Audited("documents", "document_id"),
    "DownloadDocument": Audited("documents", "document_id"),
    "ReindexDocuments": Audited("operations", made="operation.id"),
    "CancelOperation": Audited("operations", "operation_id"),
    "CreateSource": Audited("sources", made="source.id", changes="source"),
    "UpdateSource": Audited("sources", "source_id", changes="resource"),
    "DeleteSource": Audited("sources", "source_id"),
    "SyncSource": Audited("sources", "source_id"),
    "DeleteConversation": Audited("conversations", "conversation_id"),
    "ShareConversation": Audited(
        "conversations", "conversation_id", within=(("answers", "answer_id"), ("shares", "shared.share_id"))
    ),
    "UnshareConversation": Audited("conversations", "conversation_id", within=(("answers", "answer_id"),)),
    "GetSharedConversation": Audited("shares", "share_id"),
    "DeleteAnswer": Audited("answers", "answer_id"),
    "CreateKey": Audited("keys", made="key.id"),
    "RevokeKey": Audited("keys", "key_id"),
    "CheckProvider": Audited("providers", "id"),
    "UpdateTenantLimits": Audited("limits", "tenant_id", changes="resource"),
}
"""Audited RPCs by name."""

_READS = "reads what its caller may see and changes nothing"
_QUESTION = "a question: it is kept with its answer, and its use in the usage of its user"
_PERSONAL = "of its user alone: no administrator decides by it, and its texts are none of the log's"

NOT_AUDITED: dict[str, str] = {
    **dict.fromkeys(
        (
            *("GetCollection", "ListCollections", "GetDocument", "ListDocuments", "WatchDocument", "WatchDocuments"),
            *("QueryChunks", "GetChunk", "ListChunks", "GetVector", "ListVectors", "GetOperation", "ListOperations"),
            *("WatchOperation", "GetConversation", "ListConversations", "ListMessages", "GetAnswer"),
            *("GetAnswerManifest", "ListFeedback", "ListKeys", "ListProviders", "GetHealth", "GetTrace", "WhoAmI"),
            *("GetUsage", "ListUserUsage", "GetActivity", "GetSystemInfo", "GetTenantLimits", "ListTenantLimits"),
            *("GetSource", "ListSources", "ListSourceKinds", "ListSourceItems", "WatchSource"),
            *("ListTables", "GetTable", "QueryTables", "GetEvaluationRun", "ListEvaluationRuns"),
        ),
        _READS,
    ),
    **dict.fromkeys(("Search", "Ask", "ReplayAnswer", "SearchMemory", "RegenerateMessage", "EditMessage"), _QUESTION),
    **dict.fromkeys(
        ("CreateConversation", "UpdateConversation", "RestoreMessage", "CreateFeedback", "DeleteFeedback"), _PERSONAL
    ),
    "ValidateProvider": "compares settings with a schema; it reaches no provider and changes nothing",
    "ListAuditEvents": "reads the log: an event for each look at it would fill it with looks",
}
"""Reasons why RPCs are not logged. Attempts refused by authentication or permission are events all the same."""
